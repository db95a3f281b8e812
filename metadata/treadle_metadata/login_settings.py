"""The setting ``login``, read into its parts: how long sessions last, and the identity provider, if there is one.

A table of ``treadle.toml`` or, in the environment, the same as JSON. Called by the web server when it starts, so that a
mistake is told then and not at the first login.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final
from urllib.parse import urlsplit

from treadle_metadata.settings import Settings, SettingsError

DAY: Final = 86_400
_LONGEST_SESSION: Final = 366 * DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """The identity provider, and what its groups may do.

    ``roles`` maps a group to the role everywhere; of several the strongest built-in one counts, else the first listed.
    ``teams`` maps a group to ``TEAM`` or ``TEAM:ROLE`` (User without it). ``default_role`` is for those whom no group
    gives a role; without it they are refused.
    """

    issuer: str
    client_id: str
    client_secret: str = ""
    scopes: str = "openid profile email"
    username_claim: str = "preferred_username"
    groups_claim: str = "groups"
    roles: Mapping[str, str] = field(default_factory=dict)
    teams: Mapping[str, str] = field(default_factory=dict)
    default_role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginSettings:
    """How people log in."""

    session_seconds: int = DAY
    oidc: OidcSettings | None = None


def read(settings: Settings) -> LoginSettings:
    """Return the parts of the setting ``login``.

    Raises:
        SettingsError: it is no table, has an unknown key, or a value that cannot be used.
    """
    if not settings.login:
        return LoginSettings()
    try:
        content = json.loads(settings.login)
    except ValueError as error:
        raise SettingsError(f"setting login is neither a table nor JSON: {error}") from error
    given = _known("login", content, LoginSettings)
    seconds = given.get("session_seconds", DAY)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 < seconds <= _LONGEST_SESSION:
        raise SettingsError(f"setting login.session_seconds is {seconds!r}, expected 1 to {_LONGEST_SESSION}")
    oidc = given.get("oidc")
    return LoginSettings(session_seconds=seconds, oidc=None if oidc is None else _oidc(oidc, settings))


def _oidc(content: object, settings: Settings) -> OidcSettings:
    given = _known("login.oidc", content, OidcSettings)
    for name, value in given.items():
        expected: type = dict if name in {"roles", "teams"} else str
        if not isinstance(value, expected):
            kind = "a table" if expected is dict else "a text"
            raise SettingsError(f"setting login.oidc.{name} is {value!r}, expected {kind}")
    for name in ("issuer", "client_id"):
        if not given.get(name):
            raise SettingsError(f"setting login.oidc lacks {name}")
    if not settings.public_url:
        raise SettingsError("setting login.oidc needs setting public_url: the provider sends people back to it")
    address = urlsplit(given["issuer"])
    if address.scheme != "https" and address.hostname not in {"127.0.0.1", "localhost", "::1"}:
        raise SettingsError(f"setting login.oidc.issuer is {given['issuer']!r}, expected an https address")
    return OidcSettings(**given)


def _known(name: str, content: object, kind: type) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise SettingsError(f"setting {name} is no table")
    names = [one.name for one in fields(kind)]
    for key in content:
        if key not in names:
            close = difflib.get_close_matches(key, names, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; expected one of {', '.join(names)}"
            raise SettingsError(f"setting {name} has the key {key!r}, which is not known{hint}")
    return content
