"""The rule for names of pools, variables and connections, and for texts stored under them."""

from __future__ import annotations

from typing import Final, LiteralString

from treadle_metadata.errors import InvalidRequestError, shown

LONGEST_NAME: Final = 250
LONGEST_TEXT: Final = 1024 * 1024
OF_TEAM: Final[LiteralString] = "(%(team)s::text IS NULL OR team = %(team)s)"
"""The condition that a row belongs to the team that is asked for, if one is."""


def checked_name(what: str, name: str, *, field: str = "name") -> str:
    """Return ``name`` if it can name a ``what``; ``field`` is what requests call it.

    Raises:
        InvalidRequestError: it is empty, longer than 250 characters, begins or ends with a space, holds a character
            that cannot be printed, or is a step of a path.
    """
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip() or name in {".", ".."}:
        raise InvalidRequestError(
            f"{what} {shown(name)} cannot be used: expected 1 to {LONGEST_NAME} printable characters without spaces "
            "around them",
            field=field,
        )
    return name


def checked_text(what: str, text: str) -> str:
    """Return ``text`` if it can be stored.

    Raises:
        InvalidRequestError: it is longer than 1 MiB, or holds NUL or half of a surrogate pair.
    """
    if len(text) > LONGEST_TEXT:
        raise InvalidRequestError(f"{what} has {len(text)} characters, expected at most {LONGEST_TEXT}")
    if "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise InvalidRequestError(f"{what} holds a character that cannot be stored (NUL or half of a surrogate pair)")
    return text
