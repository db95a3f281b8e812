"""The layout of remote logs, as pure functions: where a log lies, its objects, and which of them make it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from treadle_metadata.errors import InvalidRequestError

_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Piece:
    """An object that holds the bytes of a log from ``offset`` up to ``end``."""

    offset: int
    end: int
    path: str


def key_of(month: date, path: str) -> str:
    """Return where a log lies in the store: by month, DAG, run, task and try. ``path`` is that in the logs folder."""
    return f"{month:%Y-%m}/{path.removesuffix('.jsonl')}"


def covering(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the fewest objects that cover a log from its first byte up to the first gap; pure."""
    chosen: list[Piece] = []
    end, best = 0, None
    for one in sorted(pieces, key=lambda piece: (piece.offset, piece.end)):
        if one.offset > end and best is not None:
            chosen.append(best)
            end, best = best.end, None
        if one.offset > end:
            break
        if one.end > (end if best is None else best.end):
            best = one
    if best is not None:
        chosen.append(best)
    return chosen


def piece_of(found: Mapping[str, Any]) -> Piece | None:
    """Return what a listed object is; None for one that is half written (its size is not what its name says)."""
    path = str(found["name"])
    offset, _, length = path.rpartition("/")[2].partition("-")
    if len(offset) != _DIGITS or not (offset.isdecimal() and length.isdecimal()) or found.get("size") != int(length):
        return None
    return Piece(int(offset), int(offset) + int(length), path)


def name_of(offset: int, length: int) -> str:
    """Return the name of an object."""
    return f"{offset:0{_DIGITS}d}-{length}"


def checked(key: str) -> str:
    """Return ``key`` if it stays in the store.

    Raises:
        InvalidRequestError: it leads out of it (case F6).
    """
    if any(part in ("", ".", "..") for part in key.split("/")):
        raise InvalidRequestError(f"the log path {key!r} leads out of the store; it is not read")
    return key
