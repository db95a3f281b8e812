"""The installation's signing keys, checked before anything is served (case F2)."""

from __future__ import annotations

from typing import Final

from treadle_metadata.settings import SettingsError

SHORTEST_SECRET: Final = 32
_FEWEST_DISTINCT: Final = 8


def check_secrets(secrets: str) -> None:
    """Refuse signing keys that can be guessed. ``secrets``: the setting ``jwt_secret``, keys with commas between.

    Raises:
        SettingsError: a key is too short, or repeats few characters as well-known defaults do.
    """
    for secret in (one.strip() for one in secrets.split(",")):
        if len(secret) < SHORTEST_SECRET or len(set(secret)) < _FEWEST_DISTINCT:
            raise SettingsError(
                f"each key of setting jwt_secret must hold at least {SHORTEST_SECRET} characters, hard to guess; "
                "make one with: python -c 'import secrets; print(secrets.token_urlsafe(48))'"
            )
