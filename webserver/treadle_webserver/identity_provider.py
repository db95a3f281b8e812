"""What the web server needs of an identity provider, whatever protocol it speaks; ``oidc`` is the one there is.

``provider_of`` loads it when the setting ``login`` names a provider, so that nobody else needs its packages.
"""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol
from urllib.parse import urlsplit

from treadle_metadata.login_settings import LoginSettings, OidcSettings
from treadle_metadata.rights.identities import Person
from treadle_metadata.settings import SettingsError

LIFETIME: Final = timedelta(minutes=10)
"""How long a login at the provider may take."""


class ProviderError(Exception):
    """The provider did not answer, or what it said cannot be believed; ``str()`` is for the person who logs in."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A login that has begun: what the provider must say again, and where the person wanted to go."""

    state: str
    nonce: str
    verifier: str
    following: str
    began_at: str

    def plain(self) -> dict[str, str]:
        """Return it as JSON holds it."""
        return asdict(self)

    def is_over(self, now: datetime) -> bool:
        """Tell whether it began too long ago."""
        return not timedelta(0) <= now - datetime.fromisoformat(self.began_at) <= LIFETIME


class IdentityProvider(Protocol):
    """Sends people to the provider, and tells whom it vouches for."""

    settings: OidcSettings

    def begin(self, following: str, *, now: datetime) -> tuple[str, Flow]:
        """Return the provider's address for a new login, and what ends it."""

    def end(self, flow: Flow, code: str, *, now: datetime) -> Person:
        """Return whom the provider says that the code is for."""


def provider_of(login: LoginSettings, public_url: str) -> IdentityProvider | None:
    """Return the provider that the setting ``login`` names, if it names one.

    Raises:
        SettingsError: its packages are not installed.
    """
    if login.oidc is None:
        return None
    try:
        module = importlib.import_module("treadle_webserver.oidc")
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"setting login.oidc needs the package {error.name!r}: pip install 'treadle[oidc]'"
        ) from error
    found: IdentityProvider = module.Provider(login.oidc, f"{public_url.rstrip('/')}/auth/oidc/callback")
    return found


def page_after(following: str, public_url: str) -> str:
    """Return the address of one of our pages, below the path that Treadle is served under."""
    return urlsplit(public_url).path.rstrip("/") + following
