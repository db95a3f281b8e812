"""A dags folder with files of custom timetables, and a scheduler that asks them in processes of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle_executors.timetables import Evaluator
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.custom_timetables import CustomTimetables
from treadle_scheduler.waking import Scope

ANSWER_SECONDS = 2.0
"""Long enough for a busy machine; only what hangs takes it."""

HEAD = """
from datetime import UTC, datetime, timedelta
import os, time
from treadle.timetables import DagRunInfo, DataInterval, Timetable

class Hourly(Timetable):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        last = last_automated_data_interval
        after = last.end if last else restriction.earliest - timedelta(hours=1)
        return self.at(after.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1))

    def at(self, moment):
        return DagRunInfo.exact(moment)

    def infer_manual_data_interval(self, *, run_after):
        return DataInterval.exact(run_after)
"""


class Folder:
    """The dags folder: files of timetables, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, body: str = "") -> None:
        file = self.path / f"{name}.py"
        file.write_text(HEAD + dedent(body))
        # A later time whatever the clock's steps are.
        later = file.stat().st_mtime_ns + 1_000_000 * (1 + len(body))
        os.utime(file, ns=(later, later))


@pytest.fixture
def timed() -> Callable[..., DagDocument]:
    """Make a DAG of one task with a schedule, from noon on."""

    def timed(dag_id: str, schedule: ScheduleDocument, **changes: Any) -> DagDocument:
        defaults: dict[str, Any] = {"start_date": "2026-01-15T12:00:00+00:00"}
        return a_dag(dag_id, TaskDocument("a"), schedule=schedule, **(defaults | changes))

    return timed


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "dags")


@pytest.fixture
def evaluator(settings: Settings, folder: Folder) -> Iterator[Evaluator]:
    found = Evaluator(replace(settings, dags_folder=folder.path), answer_seconds=ANSWER_SECONDS)
    yield found
    found.close()


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock, evaluator: Evaluator) -> TestScheduler:
    made = TestScheduler(database, settings, clock)
    made.context.custom = CustomTimetables(evaluator, lambda: made.loop.wake(Scope.EVERYTHING))
    return made


BeatUntil = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def beat_until(scheduler: TestScheduler) -> BeatUntil:
    """Beat while a condition does not hold: answers come from other processes, in their time."""

    def beat_until(condition: Callable[[], Any]) -> Any:
        def looked() -> Any:
            scheduler.loop.beat()
            return condition()

        return wait_until(looked)

    return beat_until


@pytest.fixture
def warnings(database: Database) -> Callable[[], dict[str, str]]:
    def warnings() -> dict[str, str]:
        with database.begin() as connection:
            return {row["dag_id"]: row["message"] for row in rows(connection, "SELECT * FROM dag_warning")}

    return warnings
