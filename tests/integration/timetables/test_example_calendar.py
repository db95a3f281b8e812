"""The example's timetable from its file to its runs: parsed by the DAG processor, evaluated apart, run by the loop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.integration.timetables.conftest import ANSWER_SECONDS
from tests.support.parsing import Parsed, running
from tests.support.scheduling import TestScheduler
from tests.support.waiting import wait_until

from treadle_executors.timetables import Evaluator
from treadle_metadata import pausing
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_scheduler.custom_timetables import CustomTimetables
from treadle_scheduler.waking import Scope

EXAMPLE = Path(__file__).parents[3] / "dags" / "closing_prices.py"


def test_the_trading_days_of_the_example_make_one_run_each(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """About Good Friday 2026, 3 April: the run of Monday covers the time from Thursday's close."""
    parsed = Parsed(database, settings)
    with running(parsed):
        parsed.write("closing_prices.py", EXAMPLE.read_text())
        wait_until(lambda: parsed.dag("closing_prices"))
    evaluator = Evaluator(settings, answer_seconds=2 * ANSWER_SECONDS)
    scheduler = TestScheduler(database, settings, clock)
    scheduler.context.custom = CustomTimetables(evaluator, lambda: scheduler.loop.wake(Scope.EVERYTHING))
    clock.set(datetime(2026, 4, 2, 21, tzinfo=UTC))
    assert scheduler.next_run_at("closing_prices") is None, "nobody has asked the timetable of a paused DAG"
    with database.begin() as connection:
        pausing.set_paused(connection, ["closing_prices"], False, now=clock.now())

    def looked(condition: Any) -> Any:
        scheduler.loop.beat()
        return condition()

    try:
        wait_until(lambda: looked(lambda: len(scheduler.run_states("closing_prices")) == 1))
        assert scheduler.next_run_at("closing_prices") == datetime(2026, 4, 6, 20, 30, tzinfo=UTC)
        clock.set(datetime(2026, 4, 6, 20, 30, tzinfo=UTC) + timedelta(seconds=1))
        wait_until(lambda: looked(lambda: len(scheduler.run_states("closing_prices")) == 2))
    finally:
        evaluator.close()
    spans = [(row["interval_start"], row["interval_end"]) for row in parsed.select("SELECT * FROM dag_run ORDER BY id")]
    assert [f"{start:%a %H:%M} to {end:%a %H:%M}" for start, end in spans] == [
        "Wed 20:00 to Thu 20:00",
        "Thu 20:00 to Mon 20:00",
    ]
