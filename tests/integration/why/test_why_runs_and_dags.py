"""Why a run does not start and why a DAG gets no run: each reason is made to happen, then read (case H5)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.integration.why.conftest import LEASE, Asking
from tests.support.holding import hold
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import backfills, dag_warnings
from treadle_metadata.deciding.reasons import Blocker, Kind, Reason
from treadle_metadata.errors import NotFoundError
from treadle_metadata.statements import execute, rows

A = TaskDocument(task_id="a")
DAILY = ScheduleDocument(kind="cron", expressions=("0 6 * * *",), summary="0 6 * * *")
TOMORROW = datetime(2026, 1, 16, 6, tzinfo=UTC)
HOUR = timedelta(hours=1)


def daily(scheduler: TestScheduler, next_run_at: datetime | None = TOMORROW, **changes: Any) -> None:
    """Install DAG ``d``, which runs at 6 each day."""
    document = a_dag("d", A, schedule=DAILY, **changes)
    scheduler.install(document, next_run_at=next_run_at, schedule_summary="0 6 * * *")


def an_import_error(scheduler: TestScheduler, file: str) -> None:
    with scheduler.database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO import_error (file, line, message, stacktrace, occurred_at)
            VALUES (%(file)s, 3, 'NameError: name ''x'' is not defined', '', %(now)s)
            """,
            {"file": file, "now": scheduler.clock.now()},
        )


def test_a_run_that_is_over_its_dags_limit_names_the_runs_that_hold_it(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "a")
    scheduler.install(a_dag("d", A, max_active_runs=2))
    names = [scheduler.trigger("d", run_id=name) for name in ("one", "two", "three", "four")]
    scheduler.beats()
    third, fourth = ask.run("d", names[2]), ask.run("d", names[3])
    assert third.reason is fourth.reason is Reason.RUN_LIMIT
    assert third.blocked_by == Blocker(Kind.DAG_RUN, "d/one")
    held = "DAG 'd' has 2 running runs of 2 that max_active_runs allows (one, two)"
    assert third.sentence == held
    assert fourth.sentence == f"{held}, and 1 queued run before this one"
    assert ask.dag("d") == third, "a DAG is explained by its oldest queued run"


def test_a_run_of_the_future_tells_when_it_may_start(scheduler: TestScheduler, ask: Asking) -> None:
    scheduler.install(a_dag("d", A))
    run_id = scheduler.trigger("d", run_id="later", run_after=scheduler.clock.now() + HOUR)
    scheduler.beats()
    found = ask.run("d", run_id)
    assert (found.reason, found.until) == (Reason.NOT_DUE, scheduler.clock.now() + HOUR)
    assert found.sentence == "run 'later' starts no earlier than its run_after, 2026-01-15 13:00 UTC (in 1 h)"


def test_a_queued_run_of_a_paused_dag_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    scheduler.install(a_dag("d", A), is_paused=True)
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert ask.run("d", run_id).reason is Reason.PAUSED


def test_a_run_that_nothing_holds_waits_for_the_next_beat_or_for_a_scheduler(
    scheduler: TestScheduler, ask: Asking
) -> None:
    scheduler.install(a_dag("d", A))
    run_id = scheduler.trigger("d")
    assert ask.run("d", run_id).reason is Reason.NEXT_BEAT
    scheduler.clock.advance(LEASE + timedelta(days=2))
    found = ask.run("d", run_id)
    assert (found.reason, found.blocked_by) == (Reason.NO_SCHEDULER, Blocker(Kind.SCHEDULER, "scheduler"))
    assert "the last heartbeat came 32 d ago" in found.sentence


def test_a_run_under_way_is_explained_by_its_task_that_is_furthest_on(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "a")
    scheduler.install(a_dag("d", A, TaskDocument(task_id="b", upstream=("a",))))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    found = ask.run("d", run_id)
    assert (found.reason, found.sentence) == (
        Reason.RUNNING,
        "a runs since 2026-01-15 12:00 UTC, try 1 on worker-1",
    )


def test_a_finished_run_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    scheduler.install(a_dag("d", A))
    run_id = scheduler.trigger("d", run_id="done")
    scheduler.beats()
    found = ask.run("d", run_id)
    assert found.reason is Reason.FINISHED
    assert found.sentence == "run 'done' ended in state success at 2026-01-15 12:00 UTC"


def test_a_finished_run_tells_of_its_callback_that_failed(scheduler: TestScheduler, ask: Asking) -> None:
    error = {"kind": "exception", "type": "ValueError", "message": "no such channel\nat all"}
    scheduler.executor.outcome = lambda workload: (
        {"outcome": "failed", "error": error} if "callback" in workload else {"outcome": "success"}
    )
    scheduler.install(a_dag("d", A, callbacks=("success",)))
    run_id = scheduler.trigger("d", run_id="done")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        (row,) = rows(connection, "SELECT id FROM callback")
    assert ask.run("d", run_id).sentence.endswith(f"12:00 UTC; its callback {row['id']} failed: no such channel")


@pytest.mark.parametrize("backwards", [False, True])
def test_a_backfills_runs_wait_for_their_backfill(scheduler: TestScheduler, ask: Asking, backwards: bool) -> None:
    hold(scheduler, "a")
    daily(scheduler)
    with scheduler.database.begin() as connection:
        made = backfills.create(
            connection,
            "d",
            datetime(2026, 1, 1, tzinfo=UTC),
            datetime(2026, 1, 4, tzinfo=UTC),
            max_active_runs=1,
            run_backwards=backwards,
            now=scheduler.clock.now(),
        )
    scheduler.beats()
    states = scheduler.run_states("d")
    (running,) = [run_id for run_id, state in states.items() if state == "running"]
    queued = sorted((run_id for run_id, state in states.items() if state == "queued"), reverse=backwards)
    last = ask.run("d", queued[-1])
    assert (last.reason, last.blocked_by) == (Reason.RUN_LIMIT, Blocker(Kind.DAG_RUN, f"d/{running}"))
    assert last.sentence == (
        f"backfill {made.id} has 1 running run of 1 that max_active_runs allows ({running}), "
        f"and {len(queued) - 1} queued run{'s' if len(queued) > 2 else ''} before this one"
    )
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE backfill SET is_paused = true")
    found = ask.run("d", queued[0])
    assert (found.reason, found.blocked_by) == (Reason.BACKFILL_PAUSED, Blocker(Kind.BACKFILL, str(made.id)))


def test_a_dag_that_is_not_due_tells_its_next_run(scheduler: TestScheduler, ask: Asking) -> None:
    daily(scheduler)
    found = ask.dag("d")
    assert (found.reason, found.until) == (Reason.NOT_DUE, TOMORROW)
    assert found.sentence == "the next run of DAG 'd' is due at 2026-01-16 06:00 UTC (in 18 h)"


def test_a_dag_before_its_start_date_tells_both_dates(scheduler: TestScheduler, ask: Asking) -> None:
    first = datetime(2026, 2, 1, 6, tzinfo=UTC)
    daily(scheduler, first, start_date="2026-02-01T00:00:00+00:00")
    found = ask.dag("d")
    assert (found.reason, found.until) == (Reason.BEFORE_START_DATE, first)
    assert found.sentence == (
        "DAG 'd' starts at 2026-02-01 00:00 UTC; its first run is due at 2026-02-01 06:00 UTC (in 16 d 18 h)"
    )


def test_a_dag_after_its_end_date_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    daily(scheduler, None, end_date="2026-01-10T00:00:00+00:00")
    found = ask.dag("d")
    assert found.reason is Reason.END_DATE
    assert found.sentence == "the schedule 0 6 * * * of DAG 'd' ended with its end_date, 2026-01-10 00:00 UTC"


def test_a_schedule_that_has_no_more_runs_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    scheduler.install(a_dag("d", A, schedule=ScheduleDocument(kind="once", summary="@once")))
    found = ask.dag("d")
    assert (found.reason, found.sentence) == (
        Reason.NO_MORE_RUNS,
        "the schedule @once of DAG 'd' has no further run",
    )


def test_a_dag_without_schedule_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    scheduler.install(a_dag("d", A))
    found = ask.dag("d")
    assert found.reason is Reason.NO_SCHEDULE
    assert found.sentence == "DAG 'd' has no schedule, it runs when triggered: treadle dags trigger d"


def test_a_schedule_that_is_held_by_the_run_limit_names_the_runs(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "a")
    noon = scheduler.clock.now()
    minutely = ScheduleDocument(kind="cron", expressions=("* * * * *",))
    start = "2026-01-15T11:59:30+00:00"
    scheduler.clock.advance(timedelta(seconds=-20))
    scheduler.install(a_dag("d", A, schedule=minutely, start_date=start, max_active_runs=1), next_run_at=noon)
    scheduler.trigger("d", run_id="by-hand")
    scheduler.beats()
    scheduler.clock.advance(timedelta(seconds=25))
    scheduler.beats()
    found = ask.dag("d")
    assert (found.reason, found.blocked_by) == (Reason.RUN_LIMIT, Blocker(Kind.DAG_RUN, "d/by-hand"))
    assert found.sentence == (
        "the run of 2026-01-15 12:00 UTC waits: DAG 'd' has 1 run under way of 1 that max_active_runs allows (by-hand)"
    )


def test_a_due_run_that_nothing_holds_is_made_at_the_next_beat(scheduler: TestScheduler, ask: Asking) -> None:
    daily(scheduler)
    scheduler.clock.set(TOMORROW)
    assert ask.dag("d").reason is Reason.NEXT_BEAT
    scheduler.beats()
    assert ask.dag("d").reason is Reason.NOT_DUE


def test_a_paused_dag_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    daily(scheduler)
    scheduler.set_dag("d", is_paused=True)
    assert ask.dag("d").reason is Reason.PAUSED


def test_a_dag_that_is_gone_from_its_file_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    daily(scheduler)
    scheduler.set_dag("d", is_active=False, is_paused=True)
    found = ask.dag("d")
    assert (found.reason, found.blocked_by) == (Reason.DAG_GONE, Blocker(Kind.DAG_FILE, "d.py"))
    assert found.sentence == "DAG 'd' is gone from its file d.py, so nothing of it is started"


def test_a_queued_run_of_a_dag_that_is_gone_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    daily(scheduler)
    run_id = scheduler.trigger("d")
    scheduler.set_dag("d", is_active=False)
    scheduler.beats()
    assert ask.run("d", run_id).reason is Reason.DAG_GONE
    assert ask.task("d", run_id, "a").reason is Reason.DAG_GONE


def test_a_schedule_that_gives_an_error_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    daily(scheduler, None)
    with scheduler.database.begin() as connection:
        dag_warnings.warn(
            connection, dag_warnings.SCHEDULE, {"d": "The schedule gives no next run"}, now=scheduler.clock.now()
        )
    found = ask.dag("d")
    assert found.reason is Reason.SCHEDULE_ERROR
    assert found.sentence == "the schedule 0 6 * * * of DAG 'd' gives no next run"


def test_a_file_that_cannot_be_imported_is_told_with_its_line(scheduler: TestScheduler, ask: Asking) -> None:
    daily(scheduler)
    scheduler.set_dag("d", has_import_errors=True)
    an_import_error(scheduler, "d.py")
    found = ask.dag("d")
    assert (found.reason, found.blocked_by) == (Reason.IMPORT_ERROR, Blocker(Kind.DAG_FILE, "d.py"))
    assert found.sentence == (
        "file d.py of DAG 'd' cannot be imported, so its version 1 goes on: line 3: NameError: name 'x' is not defined"
    )


def test_a_dag_that_was_never_read_may_be_in_a_broken_file(scheduler: TestScheduler, ask: Asking) -> None:
    an_import_error(scheduler, "other.py")
    an_import_error(scheduler, "sales.py")
    found = ask.dag("sales")
    assert (found.reason, found.blocked_by) == (Reason.IMPORT_ERROR, Blocker(Kind.DAG_FILE, "sales.py"))
    assert found.sentence == (
        "there is no DAG 'sales' yet, and some files cannot be imported: "
        "sales.py: line 3: NameError: name 'x' is not defined"
    )


def test_a_misspelt_dag_is_answered_with_the_nearest_name(scheduler: TestScheduler, ask: Asking) -> None:
    scheduler.install(a_dag("sales", A))
    an_import_error(scheduler, "other.py")
    with pytest.raises(NotFoundError, match="did you mean 'sales'"):
        ask.dag("slaes")


def test_a_dead_scheduler_is_told_of_a_dag(stopped: TestScheduler, ask: Asking) -> None:
    daily(stopped)
    found = ask.dag("d")
    assert found.reason is Reason.NO_SCHEDULER
    assert found.sentence == (
        "no scheduler is alive, none was ever started: start `treadle scheduler` or `treadle standalone`"
    )
