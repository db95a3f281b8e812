"""External task markers: a clear goes on into the DAGs that wait, as its preview says, and ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.lock_order import locks_of, out_of_order
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.statements import recorded_statements

from treadle.document import MarkerDocument, TaskDocument
from treadle_metadata.clearing import Plan, Selection, clear, plan
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.settings import Settings

DATE = datetime(2026, 1, 14, tzinfo=UTC)
SELECTED = Selection(dag_id="one", run_ids=("one-run",), task_ids=("load",), include_downstream=True)


def marker(dag_id: str, **changes: object) -> TaskDocument:
    marks = MarkerDocument(dag_id, "wait", **changes)  # type: ignore[arg-type]
    return TaskDocument("tell", operator="ExternalTaskMarker", is_empty=True, upstream=("load",), marks=marks)


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """Three DAGs, each of which waits for the one before; the third one's runs are a day later."""
    made = TestScheduler(database, settings, clock)
    load = TaskDocument("load", upstream=("wait",))
    made.install(a_dag("one", TaskDocument("load"), TaskDocument("other"), marker("two")))
    made.install(a_dag("two", TaskDocument("wait"), TaskDocument("first"), load, marker("three", delta_seconds=86400)))
    made.install(a_dag("three", TaskDocument("wait"), TaskDocument("end", upstream=("wait",))))
    for dag_id, date in (("one", DATE), ("two", DATE), ("three", DATE), ("three", DATE + timedelta(1))):
        made.trigger(dag_id, logical_date=date, run_id=f"{dag_id}-{'later' if date > DATE else 'run'}")
    made.beats()
    return made


def changed(found: Plan) -> set[str]:
    return {f"{one['dag_id']}.{one['run_id']}.{one['task_id']}" for one in found.changes}


EVERYTHING = {
    *(f"one.one-run.{task}" for task in ("load", "tell")),
    *(f"two.two-run.{task}" for task in ("wait", "load", "tell")),
    *(f"three.three-later.{task}" for task in ("wait", "end")),
}


def test_a_clear_passes_over_markers_as_its_preview_says_and_all_runs_again(scheduler: TestScheduler) -> None:
    with scheduler.database.begin() as connection:
        assert changed(plan(connection, SELECTED)) == EVERYTHING
        assert changed(clear(connection, SELECTED, now=scheduler.clock.now(), dry_run=True)) == EVERYTHING
    assert scheduler.run_states("three") == {"three-run": "success", "three-later": "success"}
    with recorded_statements(scheduler.database) as seen, scheduler.database.begin() as connection:
        done = clear(connection, SELECTED, now=scheduler.clock.now())
    assert [table for table, _ in locks_of(seen)][:2] == ["dag_run", "task_instance"]
    assert out_of_order(seen) == []
    assert (changed(done), len(done.all_cleared), done.runs_in_all) == (EVERYTHING, 7, 3)
    assert scheduler.run_states("three") == {"three-run": "success", "three-later": "queued"}
    scheduler.beats()
    assert scheduler.run_states("three") == {"three-run": "success", "three-later": "success"}


def test_a_marker_whose_dag_task_or_run_is_not_there_passes_nothing_on(scheduler: TestScheduler) -> None:
    scheduler.set_dag("two", is_active=False)
    with scheduler.database.begin() as connection:
        assert changed(plan(connection, SELECTED)) == {"one.one-run.load", "one.one-run.tell"}


def test_markers_that_form_a_circle_are_refused(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("ring", TaskDocument("wait"), TaskDocument("load", upstream=("wait",)), marker("ring")))
    scheduler.trigger("ring", logical_date=DATE, run_id="ring-run")
    scheduler.beats()
    selected = Selection(dag_id="ring", run_ids=("ring-run",), task_ids=("load",), include_downstream=True)
    with scheduler.database.begin() as connection, pytest.raises(InvalidRequestError, match="form a circle"):
        clear(connection, selected, now=scheduler.clock.now())
    assert scheduler.run_states("ring") == {"ring-run": "success"}
