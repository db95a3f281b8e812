"""Lines of task logs as answers show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from typing_extensions import TypedDict

_NAMES: Final = {"time": "timestamp", "text": "event", "source": "logger"}
_GROUP: Final = "::group::"
_GROUP_END: Final = "::endgroup::"


class SearchMatchShape(TypedDict):
    """A line that was found, with its number, counted from 0."""

    number: int
    line: dict[str, Any]


class LogSearchShape(TypedDict):
    """What a search found. ``next_line`` is where to search on; null: the end of the log was reached."""

    matches: list[SearchMatchShape]
    next_line: int | None


class LineShape(TypedDict):
    """One line. ``exc`` is a traceback; ``continued``: it goes on the line before, which was too long for one.

    ``group``: the line begins a group that can be folded, with ``text`` for its title, or ends one.
    """

    number: int
    time: str | None
    level: str | None
    source: str | None
    logger: str | None
    text: str
    exc: str | None
    continued: bool
    group: Literal["start", "end"] | None


class LogWindowShape(TypedDict):
    """A window of a log. ``counts`` tell how many errors and warnings all of it has; ``is_over``: its attempt ended.

    ``message`` says why there is no line, where there is none.
    """

    first: int
    lines: list[LineShape]
    total: int
    bytes: int
    counts: dict[str, int]
    is_over: bool
    message: str | None


def line_shape(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line with Airflow's names: timestamp, level, event, logger; other keys stay."""
    return {_NAMES.get(name, name): value for name, value in line.items()}


def numbered_line_shape(number: int, line: Mapping[str, Any]) -> LineShape:
    """Return a line for the UI."""
    text = str(line.get("text", ""))
    group: Literal["start", "end"] | None = None
    if text.startswith(_GROUP):
        group, text = "start", text.removeprefix(_GROUP)
    elif text.startswith(_GROUP_END):
        group, text = "end", ""
    return {
        "number": number,
        "time": _text(line, "time"),
        "level": _text(line, "level"),
        "source": _text(line, "source"),
        "logger": _text(line, "logger"),
        "text": text,
        "exc": _text(line, "exc"),
        "continued": bool(line.get("continued")),
        "group": group,
    }


def _text(line: Mapping[str, Any], name: str) -> str | None:
    value = line.get(name)
    return None if value is None else str(value)
