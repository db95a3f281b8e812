"""Whatever people, workers and clocks do in whatever order, limits hold, no move is unlawful, and every run ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.support import databases
from tests.support.marks import mark_task
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import DagDocument, ExpandArgument, ExpandDocument, TaskDocument
from treadle_executors.executor import ExecutorEvent
from treadle_metadata import clearing, execution, marking
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import ConflictError
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.waking import Scope
from treadle_worker.protocol import Workload

RUNS, SLOTS, IN_RUN, MOST_RUNS = 2, 4, 3, 5
RETRIED: Final[dict[str, Any]] = {"retries": 1, "retry_delay_seconds": 20, "pool": "p"}
OVER_MAKE: Final = ExpandDocument("product", (ExpandArgument("x", task_id="make"),))
OVER_EACH: Final = ExpandDocument("product", (ExpandArgument("x", task_id="each"),))

BUSY: Final[DagDocument] = a_dag(
    "busy",
    TaskDocument("make", **RETRIED),
    TaskDocument("each", upstream=("make",), expand=OVER_MAKE, pool_slots=2, **RETRIED),
    TaskDocument("again", upstream=("each",), expand=OVER_EACH, trigger_rule="none_failed", pool="p"),
    TaskDocument("join", upstream=("again",), trigger_rule="all_done", is_empty=True),
    TaskDocument("last", upstream=("join", "make"), trigger_rule="one_success", **RETRIED),
    max_active_runs=RUNS,
    max_active_tasks=IN_RUN,
    dagrun_timeout_seconds=500,
)
PAST: Final[DagDocument] = a_dag(
    "past",
    TaskDocument("one", depends_on_past=True, pool="p"),
    TaskDocument("two", upstream=("one",), wait_for_downstream=True, **RETRIED),
)
TASKS: Final = [("busy", task.task_id) for task in BUSY.tasks] + [("past", task.task_id) for task in PAST.tasks]
OUTCOMES: Final = ["success"] * 4 + ["failed", "failed", "failed_without_retry", "skipped"]
some = st.integers(0, 10_000)


class Anything(RuleBasedStateMachine):
    """People, workers and the clock, around one scheduler that beats now and then."""

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__()
        self.clock = ManualClock(databases.CLOCK_START)
        self.scheduler = TestScheduler(database, settings, self.clock)
        self.held: list[Workload] = []
        self.started: list[Workload] = []
        self.events: list[ExecutorEvent] = []
        self.scheduler.executor.queue = self.held.extend  # type: ignore[method-assign, assignment]
        self.scheduler.executor.events = self._events  # type: ignore[method-assign]
        databases.delete_all_rows(database.url)
        with database.begin() as connection:
            execute(connection, "INSERT INTO slot_pool (name, slots) VALUES ('p', %(slots)s)", {"slots": SLOTS})
        for document in (BUSY, PAST):
            self.scheduler.install(document)

    def _events(self) -> list[ExecutorEvent]:
        events, self.events = self.events, []
        return events

    def _select(self, sql: Any) -> list[Any]:
        with self.scheduler.database.begin() as connection:
            return list(rows(connection, sql))

    def _act(self, act: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        return self.scheduler.database.run(
            lambda connection: act(connection, *arguments, now=self.clock.now(), **keywords)
        )

    def _run(self, which: int) -> Any:
        found = self._select("SELECT * FROM dag_run ORDER BY id")
        return found[which % len(found)]

    def _any_run(self) -> bool:
        return bool(self._select("SELECT FROM dag_run LIMIT 1"))

    @rule(dag_id=st.sampled_from(["busy", "past"]))
    def trigger(self, dag_id: str) -> None:
        count = len(self._select("SELECT FROM dag_run"))
        if count < MOST_RUNS:
            dates = {"logical_date": self.clock.now() + timedelta(days=count)} if dag_id == "past" else {}
            with suppress(ConflictError):  # a DAG that is gone from its file has no new run
                self.scheduler.trigger(dag_id, **dates)

    @rule()
    def beat(self) -> None:
        self.scheduler.loop.wake(Scope.EVERYTHING)
        self.scheduler.loop.beat()

    @rule(seconds=st.sampled_from([1, 10, 25, 35, 200]))
    def pass_time(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    @precondition(lambda self: self.held)
    @rule(which=some)
    def start(self, which: int) -> None:
        one = self.held.pop(which % len(self.held))
        (answer,) = self._act(execution.record_starts, [report(one, self.clock.now())], lease_until=self._lease())
        if answer["accepted"]:
            self.started.append(one)

    @precondition(lambda self: self.started)
    @rule(which=some, outcome=st.sampled_from(OUTCOMES), length=st.sampled_from([0, 1, 2, 3]))
    def finish(self, which: int, outcome: str, length: int) -> None:
        one = self.started.pop(which % len(self.started))
        pushed = [{"key": "return_value", "value": str([0] * length), "length": length}]
        ended = report(one, self.clock.now(), outcome=outcome, xcoms=pushed if outcome == "success" else [])
        self._act(execution.record_finishes, [ended])

    @precondition(lambda self: self.started)
    @rule()
    def renew(self) -> None:
        with self.scheduler.database.begin() as connection:
            beats = [report(one, self.clock.now()) for one in self.started]
            ours = execution.record_heartbeats(connection, beats, lease_until=self._lease())
        self.started = [one for one in self.started if one["attempt_id"] in ours]

    @precondition(lambda self: self.held or self.started)
    @rule()
    def lose_the_host(self) -> None:
        gone = self.held + self.started
        self.events += [ExecutorEvent("lost", UUID(one["attempt_id"]), "the host died") for one in gone]
        self.held.clear()
        self.started.clear()

    @precondition(lambda self: self._any_run())
    @rule(task=st.sampled_from(TASKS), which=some, below=st.booleans(), failed=st.booleans(), first=st.booleans())
    def clear(self, task: tuple[str, str], which: int, below: bool, failed: bool, first: bool) -> None:
        dag_id, task_id = task
        run = self._run(which)
        selection = clearing.Selection(
            dag_id=dag_id,
            run_id=run["run_id"],
            task_ids=(task_id,),
            include_downstream=below,
            only_failed=failed,
            map_indexes=(0,) if first else None,
        )
        with suppress(ConflictError):
            self._act(clearing.clear, selection)

    @precondition(lambda self: self._any_run())
    @rule(which=some, state=st.sampled_from(["success", "failed", "queued"]))
    def mark_run(self, which: int, state: str) -> None:
        run = self._run(which)
        if run["state"] != state:
            self._act(marking.mark_run, run["dag_id"], run["run_id"], state)

    @rule(which=some, state=st.sampled_from(["success", "failed", "skipped"]))
    def mark_task(self, which: int, state: str) -> None:
        found = self._select(
            "SELECT run.dag_id, run.run_id, one.task_id, one.map_index FROM task_instance AS one"
            " JOIN dag_run AS run ON run.id = one.dag_run_id ORDER BY one.id"
        )
        if found:
            one = found[which % len(found)]
            indexes = [one["map_index"]]
            with suppress(ConflictError):  # nor are tasks marked by the version of a DAG that is gone
                self._act(mark_task, one["dag_id"], one["run_id"], one["task_id"], state, map_indexes=indexes)

    @rule(paused=st.booleans(), column=st.sampled_from(["is_paused", "is_active"]))
    def pause(self, paused: bool, column: str) -> None:
        self.scheduler.set_dag("busy", **{column: paused is (column == "is_paused")})

    def _lease(self) -> datetime:
        return self.clock.now() + timedelta(seconds=30)

    @invariant()
    def limits_hold(self) -> None:
        assert (
            self._select(
                "SELECT coalesce(sum(pool_slots), 0) AS n FROM task_instance"
                " WHERE pool = 'p' AND state IN ('queued', 'running', 'restarting')"
            )[0]["n"]
            <= SLOTS
        )
        assert len(self._select("SELECT FROM dag_run WHERE dag_id = 'busy' AND state = 'running'")) <= RUNS

    @invariant()
    def nothing_is_left_in_a_run_that_ended(self) -> None:
        assert not self._select(
            "SELECT one.task_id, one.state FROM task_instance AS one JOIN dag_run AS run ON run.id = one.dag_run_id"
            " WHERE run.state IN ('success', 'failed')"
            " AND one.state NOT IN ('success', 'failed', 'skipped', 'upstream_failed', 'removed')"
        )

    @invariant()
    def a_lease_is_held_by_what_is_under_way_and_only_that(self) -> None:
        assert not self._select(
            "SELECT state FROM task_instance"
            " WHERE (lease_until IS NOT NULL) <> (state IN ('queued', 'running', 'restarting'))"
        )

    def teardown(self) -> None:
        self.scheduler.set_dag("busy", is_paused=False, is_active=True)
        for _ in range(80):
            self.beat()
            while self.held:
                self.start(0)
            while self.started:
                self.finish(0, "success", 2)
            left = self._select("SELECT dag_id, state FROM dag_run WHERE state IN ('queued', 'running')")
            if not [one for one in left if one["dag_id"] == "busy" or not self._waits_for_the_past()]:
                break
            self.clock.advance(timedelta(seconds=31))
        else:
            stuck = self._select("SELECT dag_run_id, task_id, map_index, state FROM task_instance ORDER BY id")
            raise AssertionError(f"runs never ended: {left}, {stuck}")

    def _waits_for_the_past(self) -> bool:
        """Tell whether what is left waits, as it was told to, for a run that ended in failure."""
        return not self._select(
            "SELECT FROM task_instance AS one JOIN dag_run AS run ON run.id = one.dag_run_id"
            " WHERE run.dag_id = 'past' AND run.state <> 'running'"
            " AND one.state NOT IN ('failed', 'upstream_failed', 'success', 'skipped')"
        ) and bool(self._select("SELECT FROM task_instance WHERE dag_id = 'past' AND state LIKE '%%failed'"))


def report(workload: Workload, now: datetime, **changes: Any) -> dict[str, Any]:
    """Return a report of any kind about an attempt."""
    return {
        "attempt_id": workload["attempt_id"],
        "task_instance_id": workload["task_instance_id"],
        "month": workload["month"],
        "hostname": "h",
        "started_at": now.isoformat(),
        "ended_at": now.isoformat(),
        "xcoms": [],
    } | changes


def test_whatever_happens_limits_hold_and_every_run_ends(database: Database, settings: Settings) -> None:
    run_state_machine_as_test(
        lambda: Anything(database, settings),  # type: ignore[arg-type]
        settings=ANYTHING,
    )


ANYTHING: Final = settings(
    max_examples=10, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
