"""What a command prints: one listing or one record, as a table, JSON, YAML or plain tab-separated text.

A table is drawn on a terminal; into a pipe or file goes plain text, so that scripts see one row a line. The writers
are imported when they are needed: rich and yaml cost more than most commands.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import click

_WRITERS: Final = {
    "table": "treadle_cli.writers.table",
    "json": "treadle_cli.writers.as_json",
    "yaml": "treadle_cli.writers.as_yaml",
    "plain": "treadle_cli.writers.plain",
}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows to print. ``columns`` are the keys that a table or plain text shows, in order; JSON and YAML show all.

    A table that is too wide for the terminal leaves out the columns ``optional``, the first of them first.
    """

    columns: tuple[str, ...]
    rows: Sequence[Row]
    empty: str = "Nothing to show."
    titles: Mapping[str, str] | None = None
    optional: tuple[str, ...] = ()

    def title(self, column: str) -> str:
        """Return the heading of ``column`` in a table."""
        return (self.titles or {}).get(column, column.replace("_", " "))


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-o/--output`` to a command."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(list(_WRITERS)),
        help="Form of the output; default: table on a terminal, else plain.",
    )(command)


def show(listing: Listing, output: str | None) -> None:
    """Print ``listing`` in the form ``output``."""
    importlib.import_module(_WRITERS[_form(output)]).write_listing(listing)


def show_record(record: Row, output: str | None) -> None:
    """Print one thing: a line for each field, or one JSON or YAML object."""
    importlib.import_module(_WRITERS[_form(output)]).write_record(record)


def _form(output: str | None) -> str:
    return output or ("table" if sys.stdout.isatty() else "plain")


def plain(value: Any) -> Any:
    """Return ``value`` as what JSON and YAML can hold; instants as ISO 8601 in UTC, durations as seconds."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
        case date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case None | bool() | int() | float():
            return value
        case str():
            return str(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(item) for item in value]
    return str(value)


def text(value: Any) -> str:
    """Return ``value`` for one cell of plain text or of a table."""
    match plain(value):
        case None:
            return ""
        case bool() as flag:
            return "yes" if flag else "no"
        case float() as number:
            return f"{number:.3f}".rstrip("0").rstrip(".")
        case list() as items:
            return ", ".join(text(item) for item in items)
        case dict() as items:
            return ", ".join(f"{key}={text(item)}" for key, item in items.items())
        case other:
            return str(other)


def say(message: str) -> None:
    """Tell the user on stderr what was done, so that stdout holds only data."""
    click.echo(message, err=True)


def counted(number: int, noun: str) -> str:
    """Return ``1 pool`` or ``3 pools``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
