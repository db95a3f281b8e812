"""Simulations of documents in the test's own database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from tests.support import databases

from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.simulation.definitions import Definitions
from treadle_scheduler.simulation.driver import Plan, Simulation
from treadle_scheduler.simulation.durations import Durations
from treadle_scheduler.simulation.result import Result
from treadle_scheduler.simulation.session import Session

BEGIN = databases.CLOCK_START.replace(hour=0)
"""2026-01-15, a Thursday."""


def at(hours: float, minutes: float = 0) -> datetime:
    """Return an instant of the simulation."""
    return BEGIN + timedelta(hours=hours, minutes=minutes)


def daily(dag_id: str, *tasks: TaskDocument, hour: int = 0, **changes: Any) -> DagDocument:
    """Return a DAG that runs each day at this hour since the new year."""
    schedule = ScheduleDocument(kind="cron", expressions=(f"0 {hour} * * *",))
    values: dict[str, Any] = {"schedule": schedule, "start_date": "2026-01-01T00:00:00+00:00"} | changes
    return DagDocument(dag_id, tasks=tasks, **values)


def simulate(
    database: Database,
    *documents: DagDocument,
    days: float = 1,
    seconds: float = 60,
    durations: Durations | None = None,
    pools: Mapping[str, int] | None = None,
    resolution: float = 0,
    **settings: Any,
) -> Result:
    """Simulate documents from ``BEGIN`` on; tasks take ``seconds`` if ``durations`` says nothing."""
    plan = Plan(
        begin=BEGIN,
        end=BEGIN + timedelta(days=days),
        durations=durations or Durations(seconds=seconds),
        resolution=resolution,
    )
    session = Session(database.url)
    try:
        return Simulation(session, Settings(**settings), Definitions.of(*documents, pools=pools), plan).run()
    finally:
        session.close()


def spans(result: Result) -> dict[str, tuple[float, float]]:
    """Return the minutes from ``BEGIN`` at which each attempt began and ended, by task, with index and try if many."""
    found = {}
    for one in result.tasks:
        assert one.ended_at is not None
        index = f"[{one.map_index}]" if one.map_index >= 0 else ""
        tried = f"#{one.try_number}" if one.try_number > 1 else ""
        found[f"{one.task_id}{index}{tried}"] = (_minutes(one.started_at), _minutes(one.ended_at))
    return found


def _minutes(moment: datetime) -> float:
    return (moment - BEGIN).total_seconds() / 60
