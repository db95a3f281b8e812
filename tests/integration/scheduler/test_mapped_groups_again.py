"""Mapped groups while they run and when they run again: depth first, retries, clears, other lengths, two schedulers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.versions import add_version

from treadle.document import DagDocument, ExpandArgument, ExpandDocument, GroupDocument, TaskDocument
from treadle_metadata import clearing, processes
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries.why import why_is_task_not_running
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop
from treadle_scheduler.waking import Scope
from treadle_worker.protocol import Workload


class Outcomes:
    """``make`` pushes a list of ``length``; the attempts of instances in ``failing`` fail."""

    def __init__(self) -> None:
        self.length = 3
        self.failing: set[tuple[str, int]] = set()

    def __call__(self, workload: Any) -> dict[str, Any]:
        if (workload["task_id"], workload["map_index"]) in self.failing:
            return {"outcome": "failed"}
        length = self.length if workload["task_id"] == "make" else None
        value = str(list(range(self.length))) if length is not None else str(workload["map_index"])
        return {"outcome": "success", "xcoms": [{"key": "return_value", "value": value, "length": length}]}


def a_group(**changes: Any) -> DagDocument:
    """Return make >> g(a >> b >> c) >> join, the group mapped over what ``make`` pushes."""
    tasks = (
        TaskDocument("make"),
        TaskDocument("g.a", upstream=("make",), group_id="g", **changes),
        TaskDocument("g.b", upstream=("g.a",), group_id="g"),
        TaskDocument("g.c", upstream=("g.b",), group_id="g"),
        TaskDocument("join", upstream=("g.c",), trigger_rule="all_done"),
    )
    expand = ExpandDocument("product", (ExpandArgument("x", task_id="make"),))
    return a_dag("d", *tasks, groups=(GroupDocument("g", expand=expand),))


@pytest.fixture
def outcomes() -> Outcomes:
    return Outcomes()


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock, outcomes: Outcomes) -> TestScheduler:
    scheduler = TestScheduler(database, settings, clock)
    scheduler.executor.outcome = outcomes
    return scheduler


def clear(scheduler: TestScheduler, **selection: Any) -> None:
    with scheduler.database.begin() as connection:
        clearing.clear(connection, clearing.Selection(dag_id="d", **selection), now=scheduler.clock.now())


def in_state(states: dict[str, str], state: str) -> list[str]:
    return sorted(name for name, own in states.items() if own == state)


def names(*indexes: int) -> list[str]:
    return sorted(f"g.{task}[{index}]" for task in "abc" for index in indexes)


class Held:
    """An executor that holds what it is given until the test lets it end."""

    def __init__(self, scheduler: TestScheduler) -> None:
        self._end = scheduler.executor.queue
        self.held: dict[tuple[str, int], Workload] = {}
        scheduler.executor.queue = self.take  # type: ignore[assignment, method-assign]

    def take(self, workloads: list[Workload]) -> None:
        self.held |= {(one["task_id"], one["map_index"]): one for one in workloads}

    def end(self, *instances: tuple[str, int]) -> None:
        self._end([self.held.pop(one) for one in instances])


def test_an_index_goes_on_without_waiting_for_the_others(scheduler: TestScheduler, settings: Settings) -> None:
    """Depth first: each instance waits within its group for its own index alone, and "why" names that one."""
    held = Held(scheduler)
    scheduler.install(a_group())
    run_id = scheduler.trigger("d")
    scheduler.beats()
    held.end(("make", -1))
    scheduler.beats()
    assert sorted(held.held) == [("g.a", 0), ("g.a", 1), ("g.a", 2)]
    held.end(("g.a", 1))
    scheduler.beats()
    held.end(("g.b", 1))
    scheduler.beats()
    assert sorted(held.held) == [("g.a", 0), ("g.a", 2), ("g.c", 1)]
    with scheduler.database.begin() as connection:
        now = scheduler.clock.now()
        processes.register(connection, "scheduler", now, 60.0)
        why = why_is_task_not_running(connection, "d", run_id, "g.b", 2, now=now, settings=settings)
    assert why.sentence.endswith("unfinished: g.a[2] (queued)")
    held.end(("g.c", 1), ("g.a", 0), ("g.a", 2))
    scheduler.beats()
    assert sorted(held.held) == [("g.b", 0), ("g.b", 2)]


def test_one_index_is_tried_again_while_the_others_go_on(
    scheduler: TestScheduler, outcomes: Outcomes, clock: ManualClock
) -> None:
    outcomes.failing = {("g.a", 1)}
    scheduler.install(a_group(retries=1, retry_delay_seconds=60))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert (states["g.a[1]"], states["g.c[0]"], states["g.b[1]"]) == ("up_for_retry", "success", "none")
    outcomes.failing = set()
    clock.advance(timedelta(seconds=61))
    scheduler.beats()
    assert in_state(scheduler.task_states(run_id), "success") == sorted(["make", "join", *names(0, 1, 2)])


def test_one_index_is_cleared_with_what_follows_it_in_its_group(scheduler: TestScheduler) -> None:
    scheduler.install(a_group())
    run_id = scheduler.trigger("d")
    scheduler.beats()
    scheduler.executor.taken.clear()
    clear(scheduler, task_ids=("g.b",), map_indexes=(1,), include_downstream=True)
    scheduler.beats()
    again = [(one["task_id"], one["map_index"]) for one in scheduler.executor.taken]
    assert again == [("g.b", 1), ("g.c", 1), ("join", -1)]
    assert scheduler.run_states("d") == {run_id: "success"}


def test_one_index_is_cleared_onto_a_newer_version_of_its_group(scheduler: TestScheduler) -> None:
    scheduler.install(a_group())
    run_id = scheduler.trigger("d")
    scheduler.beats()
    with scheduler.database.begin() as connection:
        add_version(connection, a_group(queue="new"), now=scheduler.clock.now(), code="# newer")
        selection = clearing.Selection(dag_id="d", task_ids=("g.a",), map_indexes=(1,), include_downstream=True)
        clearing.clear(connection, selection, latest=True, now=scheduler.clock.now())
    scheduler.executor.taken.clear()
    scheduler.beats()
    again = [(one["task_id"], one["map_index"], one["queue"]) for one in scheduler.executor.taken]
    assert again == [("g.a", 1, "new"), ("g.b", 1, "default"), ("g.c", 1, "default"), ("join", -1, "default")]
    assert in_state(scheduler.task_states(run_id), "success") == sorted(["make", "join", *names(0, 1, 2)])


def test_a_group_shrinks_to_nothing_and_grows_again(scheduler: TestScheduler, outcomes: Outcomes) -> None:
    """Case A35, for a group: 5, then 4, then 0, then 7 items."""
    outcomes.length = 5
    scheduler.install(a_group())
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert in_state(scheduler.task_states(run_id), "success") == sorted(["make", "join", *names(0, 1, 2, 3, 4)])
    for length in (4, 0, 7):
        outcomes.length = length
        clear(scheduler, task_ids=("make",), include_downstream=True)
        scheduler.beats()
        states = scheduler.task_states(run_id)
        assert in_state(states, "success") == sorted(["make", "join", *names(*range(length))])
        skipped = ["g.a", "g.b", "g.c"] if length == 0 else []
        assert in_state(states, "skipped") == skipped
        assert scheduler.run_states("d") == {run_id: "success"}


def test_a_group_longer_than_the_setting_allows_fails_and_says_so(
    database: Database, settings: Settings, clock: ManualClock, outcomes: Outcomes
) -> None:
    scheduler = TestScheduler(database, replace(settings, max_map_length=2), clock)
    scheduler.executor.outcome = outcomes
    scheduler.install(a_group())
    run_id = scheduler.trigger("d")
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert (states["g.a"], states["g.b"], states["g.c"], states["join"]) == (
        "failed", "upstream_failed", "upstream_failed", "success",
    )  # fmt: skip
    with database.begin() as connection:
        (found,) = rows(connection, "SELECT waiting_for FROM task_instance WHERE task_id = 'g.a'")
    assert found["waiting_for"].startswith("cannot expand 'g' to 3 instances: the setting max_map_length allows 2;")


def test_two_schedulers_that_advance_one_run_in_turn_decide_as_one(
    scheduler: TestScheduler, outcomes: Outcomes
) -> None:
    """What one remembers of a run is out of date as soon as the other has evaluated it."""
    outcomes.length = 4
    outcomes.failing = {("g.b", 2)}
    other = Context(scheduler.database, scheduler.clock, scheduler.context.settings, scheduler.context.executors)
    loops = [scheduler.loop, Loop(other)]
    scheduler.install(a_group())
    run_id = scheduler.trigger("d")
    for number in range(40):
        loop = loops[number % 2]
        loop.wake(Scope.EVERYTHING)
        loop.beat()
    assert scheduler.run_states("d") == {run_id: "success"}
    states = scheduler.task_states(run_id)
    assert in_state(states, "failed") == ["g.b[2]"]
    assert in_state(states, "upstream_failed") == ["g.c[2]"]
    taken = [(one["task_id"], one["map_index"]) for one in scheduler.executor.taken]
    assert len(taken) == len(set(taken)) == 2 + 4 + 4 + 3


def test_a_transaction_that_fails_leaves_no_memory_of_what_it_decided(
    scheduler: TestScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decisions are entered into memory before they are committed: a rollback must not lose an instance."""
    scheduler.install(a_group())
    run_id = scheduler.trigger("d")
    scheduler.loop.beat()
    with monkeypatch.context() as broken:
        broken.setattr("treadle_scheduler.duties.advance_runs.look_again", _fail)
        for _ in range(3):
            scheduler.loop.wake(Scope.EVERYTHING)
            scheduler.loop.beat()
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "success"}


def _fail(*_: object) -> None:
    raise RuntimeError("planted")
