"""Login tokens: signed JWTs that name an account and its ``token_version`` (cases F2, F13)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import jwt

from treadle_metadata.settings import SettingsError

ALGORITHM: Final = "HS256"
AUDIENCE: Final = "treadle-api"
SHORTEST_SECRET: Final = 32
_FEWEST_DISTINCT: Final = 8
_LONGEST_TOKEN: Final = 4096


class InvalidTokenError(Exception):
    """The token is malformed, not ours, or expired; ``str()`` is for the caller."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Whom a token names; it counts only while the account still has that ``token_version``."""

    username: str
    token_version: int


class Tokens:
    """Makes and reads login tokens. ``secrets``: keys, the newest first, separated by commas; the newest signs.

    Raises:
        SettingsError: a key is too short, or repeats few characters as well-known defaults do.
    """

    def __init__(self, secrets: str, lifetime_seconds: int) -> None:
        self._secrets = [one.strip() for one in secrets.split(",")]
        for secret in self._secrets:
            if len(secret) < SHORTEST_SECRET or len(set(secret)) < _FEWEST_DISTINCT:
                raise SettingsError(
                    f"each key of setting jwt_secret must hold at least {SHORTEST_SECRET} characters, hard to guess; "
                    "make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))'"
                )
        self._lifetime = timedelta(seconds=lifetime_seconds)

    def issue(self, claim: Claim, *, now: datetime) -> str:
        """Return a token for ``claim`` that expires after the setting ``token_seconds``."""
        content = {
            "sub": claim.username,
            "ver": claim.token_version,
            "aud": AUDIENCE,
            "iat": int(now.timestamp()),
            "exp": int((now + self._lifetime).timestamp()),
        }
        return jwt.encode(content, self._secrets[0], algorithm=ALGORITHM)

    def read(self, token: str, *, now: datetime) -> Claim:
        """Return whom ``token`` names.

        Raises:
            InvalidTokenError: it is malformed, signed by someone else, or expired.
        """
        if len(token) > _LONGEST_TOKEN or not token.isascii():
            raise InvalidTokenError("Invalid token")
        content = self._content(token)
        if content["exp"] <= now.timestamp():
            raise InvalidTokenError("Token Expired")
        return Claim(content["sub"], content["ver"])

    def _content(self, token: str) -> dict[str, Any]:
        for secret in self._secrets:
            try:
                # The expiry is compared by the caller, with the injected clock.
                content: dict[str, Any] = jwt.decode(
                    token,
                    secret,
                    algorithms=[ALGORITHM],
                    audience=AUDIENCE,
                    options={"require": ["sub", "ver", "exp", "aud"], "verify_exp": False, "verify_iat": False},
                )
            except jwt.InvalidSignatureError:
                continue
            except jwt.InvalidTokenError as error:
                raise InvalidTokenError("Invalid token") from error
            return content
        raise InvalidTokenError("Invalid token")
