"""Times that worker machines report, on the server's clock: a worker's own may be minutes off (issue 4, faults).

Pure; used by the Execution API. Each request says what time its worker has. A difference of more than a few seconds
is taken off all times in it: retries would else come early or late, and attempts end before they start.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from datetime import datetime, timedelta
from typing import Any, Final

STEP: Final = timedelta(seconds=10)
"""Differences are taken in whole steps: less may be a request that waited. Whoever sends a report again may by then be
told another number of steps, or another present; the part of a second of its start stays (``transitions.attempts``)."""

_TIMES: Final = ("started_at", "ended_at")


def difference(sent_at: datetime | None, now: datetime) -> timedelta:
    """Return what to add to a worker's times; nothing if it is near, or does not say what time it has."""
    return timedelta(0) if sent_at is None else STEP * round((now - sent_at) / STEP)


def correct(reports: Iterable[MutableMapping[str, Any]], by: timedelta, *, now: datetime) -> None:
    """Move the times of reports by ``by``; none lies in the future then, and none ends before it has started.

    Raises:
        ValueError: a time is none, or has no zone.
    """
    for report in reports:
        for name in _TIMES:
            if report.get(name) is not None:
                report[name] = _not_after(_moment(name, report[name]) + by, now)
        if report.get("started_at") is not None and report.get("ended_at") is not None:
            report["started_at"] = min(report["started_at"], report["ended_at"])


def _not_after(moment: datetime, now: datetime) -> datetime:
    """Return a moment that does not lie in the future, with the part of a second that it had."""
    if moment <= now:
        return moment
    latest = now.replace(microsecond=moment.microsecond)
    return latest if latest <= now else latest - timedelta(seconds=1)


def _moment(name: str, value: object) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    if moment.tzinfo is None:
        raise ValueError(f"{name} is {value!r}, expected a time with a zone")
    return moment
