"""The end of runs that took longer than their ``dagrun_timeout``.

The run fails; what has not started is skipped, what is running fails and its processes are ended at once, so that the
next run can start (case A49). Teardowns whose setups succeeded still run first (case A40).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.deciding.graph import Graph
from treadle_metadata.endings import end_runs
from treadle_metadata.states import RunState

_LONGEST: Final = 1000 * 366 * 86400.0
"""Seconds, a thousand years: what is longer has no end that a datetime can tell."""


def end_overdue(
    connection: Connection,
    woken: Sequence[Mapping[str, Any]],
    graphs: Mapping[int, Graph],
    *,
    month: date,
    now: datetime,
) -> list[Mapping[str, Any]]:
    """End the runs whose time is over; return the others, and those that go on to their teardowns."""
    overdue = {run["id"] for run in woken if not run["ending"] and _is_overdue(run, graphs[run["version_id"]], now)}
    if not overdue:
        return list(woken)
    told, reason = "its run took longer than its dagrun_timeout", "timed_out"
    going_on = end_runs(
        connection,
        sorted(overdue),
        RunState.FAILED,
        graphs=graphs,
        month=month,
        now=now,
        reason=reason,
        told=told,
    )
    left = [run for run in woken if run["id"] not in overdue - going_on]
    now_ending = {"ending": RunState.FAILED.value, "ending_reason": reason}
    return [dict(run) | now_ending if run["id"] in going_on else run for run in left]


def _is_overdue(run: Mapping[str, Any], graph: Graph, now: datetime) -> bool:
    end = time_limit(graph, run["started_at"])
    return end is not None and end <= now


def time_limit(graph: Graph, started_at: datetime) -> datetime | None:
    """Return when a run that started then must have ended; None if it has no limit, or one beyond all calendars."""
    seconds = graph.document.dagrun_timeout_seconds
    if seconds is None or seconds >= _LONGEST:
        return None
    return started_at + timedelta(seconds=seconds)
