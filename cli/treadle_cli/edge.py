"""What a command reads from its surroundings: the settings, the time, dates typed by a user, and a yes."""

from __future__ import annotations

import getpass
import os
import sys
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from treadle_metadata import settings as settings_module
from treadle_metadata.settings import Settings


def settings(**overrides: Any) -> Settings:
    """Return the settings of this process; ``overrides`` come from the command line, None meaning not given.

    Raises:
        SettingsError: a setting is unknown or unusable.
    """
    return settings_module.load(**overrides)


def now() -> datetime:
    """Return the current instant."""
    return datetime.now(UTC)


if TYPE_CHECKING:
    _ParamType = click.ParamType[datetime]
else:
    # Not generic in every version of click that we allow.
    _ParamType = click.ParamType


class Moment(_ParamType):
    """A date or time in ISO 8601; without an offset it stays naive, for ``localised`` to give it the DAG's zone."""

    name = "date"

    def __init__(self, *, end_of_day: bool = False) -> None:
        self.end_of_day = end_of_day

    def convert(self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Read ``value``; a bare date is its first instant, or its last when it ends a range."""
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a date: expected 2026-03-01 or 2026-03-01T06:00:00+01:00", param, ctx)
        if self.end_of_day and _is_bare_date(value):
            return datetime.combine(moment, time.max)
        return moment


def localised(moment: datetime | None, zone: str) -> datetime | None:
    """Return ``moment`` as an instant: a naive one is a wall-clock time in ``zone``."""
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=ZoneInfo(zone))


def moment(text: str | None) -> datetime | None:
    """Return the instant that a document holds as text."""
    return None if text is None else datetime.fromisoformat(text)


def _is_bare_date(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def actor() -> str:
    """Return who is named in the audit log: the command line and the account of the operating system."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"cli:{os.getuid()}"


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone; without a terminal to ask on, ``-y`` is needed.

    Raises:
        click.UsageError: there is nobody to ask and ``yes`` was not given.
        click.Abort: the answer was no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Nobody is there to answer: add --yes.")
    click.confirm(question, abort=True, err=True)
