"""Why a task does not run: each reason is made to happen, then read (case H5)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event
from tests.integration.why.conftest import Asking
from tests.support.holding import hold
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ExpandArgument, ExpandDocument, TaskDocument
from treadle_metadata import marking, processes
from treadle_metadata.deciding.reasons import Blocker, Kind, Reason
from treadle_metadata.errors import NotFoundError
from treadle_metadata.statements import execute
from treadle_worker.protocol import Workload

DAY = timedelta(days=1)


def task(task_id: str, *upstream: str, **changes: Any) -> TaskDocument:
    return TaskDocument(task_id=task_id, upstream=upstream, **changes)


def failing(*task_ids: str) -> Any:
    def outcome(workload: Workload) -> dict[str, Any]:
        if workload["task_id"] not in task_ids:
            return {"outcome": "success"}
        return {"outcome": "failed", "error": {"type": "ValueError", "message": "no rows\nin the file"}}

    return outcome


def an_instance(*parts: str) -> Blocker:
    return Blocker(Kind.TASK_INSTANCE, "/".join(parts))


def a_pool(scheduler: TestScheduler, name: str, slots: int) -> None:
    with scheduler.database.begin() as connection:
        execute(
            connection,
            "INSERT INTO slot_pool (name, slots) VALUES (%(name)s, %(slots)s)",
            {"name": name, "slots": slots},
        )


def started(scheduler: TestScheduler, *tasks: TaskDocument, dag_id: str = "d", **changes: Any) -> str:
    """Install a DAG of these tasks and run one run of it as far as it comes."""
    scheduler.install(a_dag(dag_id, *tasks, **changes))
    run_id = scheduler.trigger(dag_id, run_id=f"{dag_id}-run")
    scheduler.beats()
    return run_id


def test_a_trigger_rule_names_the_upstream_tasks_and_their_states(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "slow")
    run_id = started(scheduler, task("quick"), task("slow"), task("join", "quick", "slow"))
    found = ask.task("d", run_id, "join")
    assert found.reason is Reason.TRIGGER_RULE
    assert found.sentence == (
        "join waits for 1 of 2 upstream tasks: all must succeed (all_success); unfinished: slow (running)"
    )
    assert found.blocked_by == an_instance("d", run_id, "slow")


def test_a_mapped_upstream_is_named_with_how_far_it_is(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "each")
    three = ExpandDocument("product", (ExpandArgument("x", length=3),))
    run_id = started(scheduler, task("each", expand=three), task("join", "each"))
    assert ask.task("d", run_id, "join").sentence.endswith("unfinished: each (0 of 3 finished)")


def test_a_full_pool_names_its_holders_and_who_goes_first(scheduler: TestScheduler, ask: Asking) -> None:
    a_pool(scheduler, "db", 1)
    hold(scheduler, "holder")
    started(scheduler, task("holder", pool="db"), dag_id="other")
    run_id = started(scheduler, task("heavy", pool="db", priority_weight=9), task("light", pool="db"))
    heavy, light = ask.task("d", run_id, "heavy"), ask.task("d", run_id, "light")
    assert heavy.reason is light.reason is Reason.POOL
    assert heavy.blocked_by == light.blocked_by == Blocker(Kind.POOL, "db")
    held = "pool 'db' has 0 of 1 slots free, it asks for 1; held by other/other-run/holder (running)"
    assert heavy.sentence == f"heavy waits: {held}"
    assert light.sentence == f"light waits: {held}; d/d-run/heavy (weight 9) goes first"


def test_a_pool_that_is_gone_or_too_small_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    a_pool(scheduler, "small", 1)
    run_id = started(scheduler, task("lost", pool="gone"), task("big", pool="small", pool_slots=2))
    lost, big = ask.task("d", run_id, "lost"), ask.task("d", run_id, "big")
    assert (lost.reason, lost.sentence) == (Reason.POOL_MISSING, "lost waits: pool 'gone' does not exist")
    assert big.reason is Reason.POOL_TOO_SMALL
    assert "can never run: it asks for 2 slots of pool 'small', which has 1" in big.sentence


def test_free_slots_that_go_to_a_heavier_task_are_told_as_priority(scheduler: TestScheduler, ask: Asking) -> None:
    a_pool(scheduler, "db", 1)
    hold(scheduler, "holder", unstarted=("heavy",))
    started(scheduler, task("holder", pool="db"), dag_id="other")
    run_id = started(scheduler, task("heavy", pool="db", priority_weight=9), task("light", pool="db"))
    with scheduler.database.begin() as connection:
        pools_change = {"name": "db", "slots": 2}
        execute(connection, "UPDATE slot_pool SET slots = %(slots)s WHERE name = %(name)s", pools_change)
    found = ask.task("d", run_id, "light")
    assert found.reason is Reason.PRIORITY
    assert found.sentence == ("light (weight 1) waits: d/d-run/heavy (weight 9) goes first and takes what is free")
    assert found.blocked_by == an_instance("d", run_id, "heavy")
    assert ask.task("d", run_id, "heavy").reason is Reason.NEXT_BEAT


def test_the_dags_cap_names_the_tasks_that_fill_it(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "a")
    run_id = started(scheduler, task("a", priority_weight=2), task("b"), max_active_tasks=1)
    found = ask.task("d", run_id, "b")
    assert found.reason is Reason.DAG_CAP
    assert found.sentence == (
        "b waits: its run has 1 active tasks, the most that max_active_tasks allows; held by d/d-run/a (running)"
    )
    assert found.blocked_by == an_instance("d", run_id, "a")


@pytest.mark.parametrize(
    ("cap", "reason"),
    [("max_active_tis_per_dag", Reason.TASK_CAP), ("max_active_tis_per_dagrun", Reason.TASK_CAP_IN_RUN)],
)
def test_the_tasks_own_caps_name_the_instance_that_fills_them(
    scheduler: TestScheduler, ask: Asking, cap: str, reason: Reason
) -> None:
    hold(scheduler, "each")
    two = ExpandDocument("product", (ExpandArgument("x", length=2),))
    run_id = started(scheduler, task("each", expand=two, **{cap: 1}))
    found = ask.task("d", run_id, "each", 1)
    assert found.reason is reason
    assert cap in found.sentence
    assert found.blocked_by == an_instance("d", run_id, "each", "0")
    assert ask.task("d", run_id, "each") == found, "without an index, the one that waits is explained"


def test_parallelism_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    scheduler.context.settings = replace(scheduler.context.settings, parallelism=1)
    hold(scheduler, "a")
    run_id = started(scheduler, task("a", priority_weight=2), task("b"))
    found = ask.task("d", run_id, "b")
    assert found.reason is Reason.PARALLELISM
    assert "parallelism of 1 is reached; held by d/d-run/a (running)" in found.sentence
    assert found.blocked_by == Blocker(Kind.SETTING, "parallelism")


def test_a_retry_tells_when_and_what_failed(scheduler: TestScheduler, ask: Asking) -> None:
    scheduler.executor.outcome = failing("a")
    run_id = started(scheduler, task("a", retries=2, retry_delay_seconds=300.0))
    found = ask.task("d", run_id, "a")
    assert found.reason is Reason.RETRY_DELAY
    assert found.sentence == (
        "a failed in try 1 of 3 (ValueError: no rows); try 2 may start at 2026-01-15 12:05 UTC (in 5 min)"
    )
    assert found.until == datetime(2026, 1, 15, 12, 5, tzinfo=UTC)


def test_the_reason_of_a_retry_policy_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    error = {"type": "Busy", "message": "429", "retry_action": "retry", "retry_reason": "the service throttles"}
    scheduler.executor.outcome = lambda _: {"outcome": "failed", "error": error, "retry_delay_seconds": 600}
    run_id = started(scheduler, task("a", retries=2, retry_delay_seconds=300.0))
    assert ask.task("d", run_id, "a").sentence == (
        "a failed in try 1 of 3 (Busy: 429; its retry policy: the service throttles); "
        "try 2 may start at 2026-01-15 12:10 UTC (in 10 min)"
    )


@pytest.mark.parametrize(
    ("setting", "word"), [("depends_on_past", "(depends_on_past)"), ("wait_for_downstream", "(wait_for_downstream)")]
)
def test_the_run_before_is_named_with_its_task(scheduler: TestScheduler, ask: Asking, setting: str, word: str) -> None:
    hold(scheduler, "a" if setting == "depends_on_past" else "b")
    scheduler.install(a_dag("d", task("a", **{setting: True}), task("b", "a")))
    now = scheduler.clock.now()
    first, second = (scheduler.trigger("d", logical_date=now - age) for age in (2 * DAY, DAY))
    scheduler.beats()
    found = ask.task("d", second, "a")
    blocking = "a" if setting == "depends_on_past" else "b"
    assert found.reason is Reason.PAST_RUN
    assert found.sentence == f"a waits for the run before, {first!r}: {blocking} (running) {word}"
    assert found.blocked_by == an_instance("d", first, blocking)


def test_a_paused_dag_is_told_before_anything_else(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "a")
    run_id = started(scheduler, task("a"), task("b", "a"))
    scheduler.set_dag("d", is_paused=True)
    found = ask.task("d", run_id, "b")
    assert (found.reason, found.blocked_by) == (Reason.PAUSED, Blocker(Kind.DAG, "d"))
    assert found.sentence == "DAG 'd' is paused: treadle dags unpause d"
    assert ask.task("d", run_id, "a").reason is Reason.RUNNING, "what runs goes on"


def test_an_executor_that_no_scheduler_has_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    a_pool(scheduler, "none", 0)
    run_id = started(scheduler, task("a", executor="celery", pool="none"))
    found = ask.task("d", run_id, "a")
    assert (found.reason, found.blocked_by) == (Reason.UNKNOWN_EXECUTOR, Blocker(Kind.EXECUTOR, "celery"))
    assert found.sentence == "a asks for executor 'celery', but the schedulers here have 'instant'"


def test_a_full_executor_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "a", unstarted=("b",))
    run_id = started(scheduler, task("a"), task("b"))
    assert ask.task("d", run_id, "b").reason is Reason.STARTING
    scheduler.context.settings = replace(scheduler.context.settings, parallelism=1)
    scheduler.clock.advance(timedelta(seconds=12))
    found = ask.task("d", run_id, "b")
    assert (found.reason, found.blocked_by) == (Reason.EXECUTOR_FULL, Blocker(Kind.EXECUTOR, "instant"))
    assert found.sentence == "b waits for 12 s for executor 'instant', which runs 1 of 1 attempts"


def tell(scheduler: TestScheduler, executors: processes.Executors) -> None:
    """Have the living scheduler tell of its executors, as its lease does."""
    now = scheduler.clock.now()
    with scheduler.database.begin() as connection:
        (one,) = processes.alive(connection, now)
        assert processes.heartbeat(connection, one.id, now, 3600, executors)


def test_what_an_executor_says_of_itself_is_told_to_those_whom_it_concerns(
    scheduler: TestScheduler, ask: Asking
) -> None:
    hold(scheduler, unstarted=("a", "b"))
    run_id = started(scheduler, task("a", queue="gpu"), task("b"))
    tell(scheduler, {"instant": [{"sentence": "no worker takes from queue 'gpu'", "queue": "gpu"}], "celery": []})
    scheduler.clock.advance(timedelta(seconds=12))
    found = ask.task("d", run_id, "a")
    assert (found.reason, found.blocked_by) == (Reason.EXECUTOR_IN_TROUBLE, Blocker(Kind.EXECUTOR, "instant"))
    assert found.sentence == (
        "a is with executor 'instant' for 12 s, which cannot start it: no worker takes from queue 'gpu'"
    )
    assert ask.task("d", run_id, "b").reason is Reason.STARTING
    tell(scheduler, {"instant": [{"sentence": "the broker is away", "queue": None}]})
    assert ask.task("d", run_id, "b").sentence.endswith("which cannot start it: the broker is away")


def test_one_of_several_executors_is_no_unknown_one(scheduler: TestScheduler, ask: Asking) -> None:
    a_pool(scheduler, "none", 0)
    run_id = started(scheduler, task("a", executor="celery", pool="none"), task("b", executor="celry", pool="none"))
    tell(scheduler, {"instant": [], "celery": []})
    assert ask.task("d", run_id, "a").reason is Reason.POOL_TOO_SMALL
    found = ask.task("d", run_id, "b")
    assert found.sentence == (
        "b asks for executor 'celry', but the schedulers here have 'celery' and 'instant'; did you mean 'celery'?"
    )


def test_an_executor_that_fell_silent_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, unstarted=("a",))
    run_id = started(scheduler, task("a"))
    scheduler.clock.advance(timedelta(minutes=2))
    found = ask.task("d", run_id, "a")
    assert found.reason is Reason.EXECUTOR_SILENT
    assert "which is silent since its lease ended at 2026-01-15 12:00:30 UTC" in found.sentence


def test_a_dead_scheduler_is_told_with_its_last_heartbeat(stopped: TestScheduler, ask: Asking) -> None:
    hold(stopped, "a", unstarted=("c",))
    run_id = started(stopped, task("a"), task("b", "a"), task("c"))
    for task_id in ("b", "c"):
        found = ask.task("d", run_id, task_id)
        assert found.reason is Reason.NO_SCHEDULER
        assert found.sentence.startswith("no scheduler is alive, none was ever started")


def test_what_has_ended_is_told_with_its_cause(scheduler: TestScheduler, ask: Asking) -> None:
    scheduler.executor.outcome = failing("a")
    run_id = started(scheduler, task("a"), task("b", "a"), task("c", "b"))
    assert ask.task("d", run_id, "a").sentence == (
        "a has ended in state failed at 2026-01-15 12:00 UTC: ValueError: no rows"
    )
    found = ask.task("d", run_id, "b")
    assert found.reason is Reason.FINISHED
    assert found.sentence == (
        "b has ended in state upstream_failed at 2026-01-15 12:00 UTC: "
        "of 1 upstream: 1 failed, but all must succeed (all_success); what failed: a"
    )
    assert found.blocked_by == an_instance("d", run_id, "a")
    # Behind a task that did not run either, it is still the one that failed that is named.
    behind = ask.task("d", run_id, "c")
    assert behind.sentence.endswith("what failed: a")
    assert behind.blocked_by == an_instance("d", run_id, "a")


def test_what_was_skipped_by_the_end_of_its_run_is_not_said_to_be_so_by_its_rule(
    scheduler: TestScheduler, ask: Asking
) -> None:
    hold(scheduler, "a")
    run_id = started(scheduler, task("a"), task("b", "a"))
    with scheduler.database.begin() as connection:
        marking.mark_run(connection, "d", run_id, "failed", now=scheduler.clock.now())
    assert ask.task("d", run_id, "b").sentence == (
        "b has ended in state skipped at 2026-01-15 12:00 UTC: "
        "it had not started when its run was ended, or when somebody marked it"
    )


def test_a_task_of_a_queued_run_waits_for_what_its_run_waits_for(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "a")
    scheduler.install(a_dag("d", task("a"), max_active_runs=1))
    first, second = scheduler.trigger("d"), scheduler.trigger("d")
    scheduler.beats()
    found = ask.task("d", second, "a")
    assert (found.reason, found.blocked_by) == (Reason.RUN_LIMIT, Blocker(Kind.DAG_RUN, f"d/{first}"))


def test_a_task_that_does_not_exist_is_answered_with_the_nearest_name(scheduler: TestScheduler, ask: Asking) -> None:
    run_id = started(scheduler, task("load"))
    with pytest.raises(NotFoundError, match="did you mean 'load'"):
        ask.task("d", run_id, "laod")


def test_a_new_task_whose_file_cannot_be_imported_is_told(scheduler: TestScheduler, ask: Asking) -> None:
    run_id = started(scheduler, task("load"))
    with scheduler.database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO import_error (file, line, message, stacktrace, occurred_at)
            VALUES ('d.py', 7, 'SyntaxError: invalid syntax', '', %(now)s)
            """,
            {"now": scheduler.clock.now()},
        )
    scheduler.set_dag("d", has_import_errors=True)
    found = ask.task("d", run_id, "send_mail")
    assert (found.reason, found.blocked_by) == (Reason.IMPORT_ERROR, Blocker(Kind.DAG_FILE, "d.py"))
    assert found.sentence == (
        "task 'send_mail' is not in version 1: file d.py of DAG 'd' cannot be imported, "
        "so its version 1 goes on: line 7: SyntaxError: invalid syntax"
    )


def test_an_answer_takes_few_statements(scheduler: TestScheduler, ask: Asking) -> None:
    a_pool(scheduler, "db", 1)
    hold(scheduler, "a")
    run_id = started(scheduler, task("a", pool="db", priority_weight=9), task("b", pool="db"))
    counted: list[str] = []

    def count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        counted.append(statement)

    event.listen(scheduler.database.engine, "before_cursor_execute", count)
    try:
        assert ask.task("d", run_id, "b").reason is Reason.POOL
    finally:
        event.remove(scheduler.database.engine, "before_cursor_execute", count)
    assert len(counted) <= 10, counted


def test_a_run_before_that_has_not_started_is_named(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "free")
    scheduler.install(a_dag("d", task("free"), task("a", "free", depends_on_past=True), max_active_runs=1))
    now = scheduler.clock.now()
    second = scheduler.trigger("d", logical_date=now - DAY)
    scheduler.beats()
    first = scheduler.trigger("d", logical_date=now - 2 * DAY)
    found = ask.task("d", second, "a")
    assert found.reason is Reason.PAST_RUN
    assert found.sentence == f"a waits for the run before, {first!r}: a (none) (depends_on_past)"


def test_an_executor_at_its_own_limit_is_named_with_what_it_runs(scheduler: TestScheduler, ask: Asking) -> None:
    hold(scheduler, "a")
    scheduler.context.settings = replace(scheduler.context.settings, executor_parallelism="instant=1")
    run_id = started(scheduler, task("a", priority_weight=9), task("b"))
    found = ask.task("d", run_id, "b")
    assert (found.reason, found.blocked_by) == (Reason.EXECUTOR_FULL, Blocker(Kind.EXECUTOR, "instant"))
    assert "executor 'instant' has 1 active attempts, the most that executor_parallelism allows" in found.sentence
    assert f"held by d/{run_id}/a" in found.sentence
