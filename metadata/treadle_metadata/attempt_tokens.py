"""Tokens of attempts: what a worker machine, which holds no other credential, proves itself with.

Made by the scheduler for each attempt that leaves its machine, renewed by the Execution API with each heartbeat, read
by it on each request (issue 4, part 1; case F18). A token names one attempt and nothing else; the server looks the
attempt up, so it is worth nothing once the attempt is over. The signing keys are derived from the setting
``jwt_secret``: a login token is never an attempt's token, nor the other way round.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import jwt

from treadle_metadata.identifiers import AttemptRef

ALGORITHM: Final = "HS256"
AUDIENCE: Final = "treadle-execution"
QUEUED_LIFETIME: Final = timedelta(days=7)
"""How long an attempt may wait in a broker before it starts."""
RUNNING_LIFETIME: Final = timedelta(hours=1)
"""How long a running attempt may be cut off and still report; each heartbeat gives a fresh token."""
_PURPOSE: Final = b"treadle: tokens of attempts"
_LONGEST_TOKEN: Final = 2048


class Scope(StrEnum):
    """What a token allows."""

    QUEUED = "queued"
    """To start the attempt, nothing else."""
    RUNNING = "running"
    """To report and to ask for the attempt, as long as it runs."""


class AttemptTokenError(Exception):
    """The token is malformed, not ours, expired or meant for something else; ``str()`` is for the caller."""


@dataclass(frozen=True, slots=True)
class AttemptClaim:
    """What a token says: which attempt, and what it allows."""

    attempt: AttemptRef
    scope: Scope


class AttemptTokens:
    """Makes and reads tokens of attempts; ``secrets`` are the installation's keys, the newest first."""

    def __init__(self, secrets: str) -> None:
        keys = [_derived(one.strip()) for one in secrets.split(",") if one.strip()]
        self._keys = {_key_id(key): key for key in keys}
        self._newest = _key_id(keys[0])

    def issue(self, claim: AttemptClaim, *, now: datetime) -> str:
        """Return a token that says ``claim``, signed with the newest key."""
        lifetime = QUEUED_LIFETIME if claim.scope is Scope.QUEUED else RUNNING_LIFETIME
        attempt = claim.attempt
        content = {
            "sub": str(attempt.attempt_id),
            "ti": attempt.task_instance_id,
            "month": attempt.month.isoformat(),
            "scope": claim.scope.value,
            "aud": AUDIENCE,
            "exp": int((now + lifetime).timestamp()),
        }
        return jwt.encode(content, self._keys[self._newest], algorithm=ALGORITHM, headers={"kid": self._newest})

    def read(self, token: str, needed: Collection[Scope], now: datetime) -> AttemptClaim:
        """Return what ``token`` says, if its scope is one of ``needed``.

        Expiry is judged by the server's clock alone, so a worker's clock may be wrong (issue 4, faults).

        Raises:
            AttemptTokenError: the token is malformed, signed by someone else, expired, or allows something else.
        """
        content = self._content(token)
        if content["exp"] <= now.timestamp():
            raise AttemptTokenError("the attempt's token is expired: its worker was cut off for too long")
        if content["scope"] not in needed:
            wanted = " or ".join(one.value for one in needed)
            raise AttemptTokenError(f"the token is for an attempt that is {content['scope']}; this needs {wanted}")
        attempt = AttemptRef(UUID(content["sub"]), content["ti"], date.fromisoformat(content["month"]))
        return AttemptClaim(attempt, Scope(content["scope"]))

    def _content(self, token: str) -> dict[str, Any]:
        try:
            if len(token) > _LONGEST_TOKEN or not token.isascii():
                raise jwt.InvalidTokenError
            key = self._keys[str(jwt.get_unverified_header(token).get("kid"))]
            # The expiry is compared by the caller, with the injected clock.
            content: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                options={"require": ["sub", "ti", "month", "scope", "exp", "aud"], "verify_exp": False},
            )
        except (jwt.InvalidTokenError, KeyError) as error:
            raise AttemptTokenError("the token is not one of this installation's attempts") from error
        return content


def _derived(secret: str) -> bytes:
    return hmac.new(secret.encode(), _PURPOSE, hashlib.sha256).digest()


def _key_id(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:16]
