"""Instants and durations as answers show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from typing_extensions import TypedDict

BUNDLE: Final = "dags-folder"
"""The one bundle there is: the folder of DAG files."""


def utc(moment: datetime | None) -> datetime | None:
    """Return ``moment`` in UTC, whatever zone the database session has."""
    return None if moment is None else moment.astimezone(UTC)


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """Return the time from ``start`` to ``end`` in seconds, or None while one of them is open."""
    return None if start is None or end is None else (end - start).total_seconds()


# A functional definition, since one key is no Python name.
TimeDeltaShape = TypedDict("TimeDeltaShape", {"__type": str, "days": int, "seconds": int, "microseconds": int})


def time_delta(seconds: float | None) -> TimeDeltaShape | None:
    """Return a duration in the form that Airflow's task responses have."""
    if seconds is None:
        return None
    delta = timedelta(seconds=seconds)
    return {"__type": "TimeDelta", "days": delta.days, "seconds": delta.seconds, "microseconds": delta.microseconds}
