"""Case A74: one run key, asked for from several sides at once and again later, is one run."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import runs
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import ConflictError
from treadle_metadata.settings import Settings

SENSORS = 4


def asked_at_once(database: Database, clock: ManualClock, dag_id: str, **key: object) -> list[str]:
    """Have several threads make a run of the same key at the same moment; return what came of each."""
    barrier, answers = threading.Barrier(SENSORS), []

    def ask() -> None:
        def act(connection: object) -> str:
            return str(runs.trigger_run(connection, dag_id, now=clock.now(), **key)["run_id"])  # type: ignore[arg-type]

        barrier.wait(10)
        try:
            answers.append(database.run(act))
        except ConflictError as error:
            answers.append(f"conflict: {error}")

    threads = [threading.Thread(target=ask) for _ in range(SENSORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return answers


def test_a_key_that_several_sensors_ask_for_at_once_is_one_run_and_the_others_hear_of_it(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    scheduler.install(a_dag("d", TaskDocument("task")))
    for number in range(10):
        answers = asked_at_once(database, clock, "d", run_id=f"key-{number}")
        assert answers.count(f"key-{number}") == 1
        assert sum(one.startswith("conflict:") and f"key-{number}" in one for one in answers) == SENSORS - 1
    scheduler.beats()
    assert scheduler.run_states("d") == {f"key-{number}": "success" for number in range(10)}


def test_asking_again_for_a_key_changes_nothing_and_the_loop_goes_on(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    scheduler.install(
        a_dag(
            "hourly",
            TaskDocument("task"),
            schedule=ScheduleDocument(kind="cron", expressions=("0 * * * *",), style="trigger"),
            start_date="2026-01-15T00:00:00+00:00",
        ),
        next_run_at=clock.now(),
    )
    scheduler.beats()
    ((scheduled, state),) = scheduler.run_states("hourly").items()
    assert state == "success"
    # A person asks for the logical date of the run that the schedule made, and of the one that it will make.
    noon = datetime(2026, 1, 15, 12, tzinfo=UTC)
    assert all(one.startswith("conflict:") for one in asked_at_once(database, clock, "hourly", logical_date=noon))
    ahead = asked_at_once(database, clock, "hourly", logical_date=noon + timedelta(hours=1))
    assert sum(one.startswith("conflict:") for one in ahead) == SENSORS - 1
    for _ in range(3):
        clock.advance(timedelta(hours=1))
        scheduler.beats()
    made = scheduler.run_states("hourly")
    assert set(made.values()) == {"success"}
    dates = scheduler._select("SELECT logical_date FROM dag_run ORDER BY logical_date")
    assert [row["logical_date"] for row in dates] == [noon + timedelta(hours=number) for number in range(4)]
    assert scheduled in made
