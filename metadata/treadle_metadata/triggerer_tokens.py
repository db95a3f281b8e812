"""Tokens of triggerers: what one, which holds no other credential, proves itself with to the Execution API.

Made from the setting ``jwt_secret`` by whoever starts a triggerer (``treadle triggerer --new-token``, standalone), and
again by the server with each beat. The signing keys are derived for this purpose alone: such a token is no login and no
attempt's.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Any, Final

import jwt

ALGORITHM: Final = "HS256"
AUDIENCE: Final = "treadle-triggerer"
LIFETIME: Final = timedelta(days=30)
_PURPOSE: Final = b"treadle: tokens of triggerers"
_LONGEST_TOKEN: Final = 2048


class TriggererTokenError(Exception):
    """The token is malformed, not ours or expired; ``str()`` is for the caller."""


class TriggererTokens:
    """Makes and reads tokens of triggerers; ``secrets`` are the installation's keys, the newest first."""

    def __init__(self, secrets: str) -> None:
        self._keys = [_derived(one.strip()) for one in secrets.split(",") if one.strip()]

    def issue(self, *, now: datetime, lifetime: timedelta = LIFETIME) -> str:
        """Return a token, signed with the newest key."""
        content = {"sub": "triggerer", "aud": AUDIENCE, "exp": int((now + lifetime).timestamp())}
        return jwt.encode(content, self._keys[0], algorithm=ALGORITHM)

    def check(self, token: str, *, now: datetime) -> None:
        """Check that ``token`` is one of a triggerer. Expiry is judged by the server's clock alone.

        Raises:
            TriggererTokenError: it is malformed, signed by someone else, expired, or meant for something else.
        """
        for key in self._keys:
            content = _content(token, key)
            if content is not None:
                if content["exp"] <= now.timestamp():
                    raise TriggererTokenError(
                        "the triggerer's token is expired: make a new one with treadle triggerer --new-token"
                    )
                return
        raise TriggererTokenError("the token is not one of this installation's triggerers")


def _content(token: str, key: bytes) -> dict[str, Any] | None:
    if len(token) > _LONGEST_TOKEN or not token.isascii():
        return None
    try:
        # The expiry is compared by the caller, with the injected clock.
        content: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            audience=AUDIENCE,
            options={"require": ["sub", "exp", "aud"], "verify_exp": False},
        )
    except jwt.InvalidTokenError:
        return None
    return content


def _derived(secret: str) -> bytes:
    return hmac.new(secret.encode(), _PURPOSE, hashlib.sha256).digest()
