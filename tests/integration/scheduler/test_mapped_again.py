"""Mapped tasks that are run again: over more items, fewer, none (case A35), and mappings over mappings (case A36)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ExpandArgument, ExpandDocument, TaskDocument
from treadle_metadata import clearing
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows


def over(task_id: str) -> ExpandDocument:
    return ExpandDocument("product", (ExpandArgument("x", task_id=task_id),))


class Lists:
    """An outcome of attempts: ``make`` pushes a list of ``length``, all others their map index."""

    def __init__(self) -> None:
        self.length = 5

    def __call__(self, workload: Any) -> dict[str, Any]:
        length = self.length if workload["task_id"] == "make" else None
        value = str(list(range(self.length))) if workload["task_id"] == "make" else str(workload["map_index"])
        return {"outcome": "success", "xcoms": [{"key": "return_value", "value": value, "length": length}]}


@pytest.fixture
def lists() -> Lists:
    return Lists()


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock, lists: Lists) -> TestScheduler:
    scheduler = TestScheduler(database, settings, clock)
    scheduler.executor.outcome = lists
    return scheduler


def clear(scheduler: TestScheduler, **selection: Any) -> None:
    with scheduler.database.begin() as connection:
        clearing.clear(connection, clearing.Selection(dag_id="d", **selection), now=scheduler.clock.now())


def values_of(scheduler: TestScheduler, task_id: str) -> list[str]:
    """Return what a join would pull: the values that ``execution`` hands out, in index order."""
    with scheduler.database.begin() as connection:
        found = rows(
            connection,
            """
            SELECT xcom.value FROM task_instance AS instance
            JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month
            WHERE instance.task_id = %(task_id)s AND instance.state <> 'removed' ORDER BY instance.map_index
            """,
            {"task_id": task_id},
        )
    return [row["value"] for row in found]


def each(states: dict[str, str], state: str) -> list[str]:
    return sorted(name for name, own in states.items() if name.startswith("each") and own == state)


def names(*indexes: int) -> list[str]:
    return [f"each[{index}]" for index in indexes]


def test_a_mapping_shrinks_to_nothing_and_grows_again_and_its_join_follows(
    scheduler: TestScheduler, lists: Lists
) -> None:
    """Case A35: 5, then 4, then 0, then 7 items."""
    tasks = TaskDocument("make"), TaskDocument("each", upstream=("make",), expand=over("make"))
    scheduler.install(a_dag("d", *tasks, TaskDocument("join", upstream=("each",))))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    lists.length = 4
    clear(scheduler, task_ids=("make",), include_downstream=True)
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert (each(states, "success"), each(states, "removed"), states["join"]) == (
        names(0, 1, 2, 3),
        names(4),
        "success",
    )
    assert values_of(scheduler, "each") == ["0", "1", "2", "3"]
    lists.length = 0
    clear(scheduler, task_ids=("make",), include_downstream=True)
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert (each(states, "skipped"), each(states, "success"), states["join"]) == (["each"], [], "skipped")
    lists.length = 7
    clear(scheduler, task_ids=("make",), include_downstream=True)
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert (each(states, "success"), each(states, "removed"), states["join"]) == (names(*range(7)), [], "success")
    assert scheduler.run_states("d") == {run_id: "success"}


def test_removed_instances_come_back_though_only_others_were_cleared(scheduler: TestScheduler, lists: Lists) -> None:
    tasks = TaskDocument("make"), TaskDocument("each", upstream=("make",), expand=over("make"))
    scheduler.install(a_dag("d", *tasks))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    lists.length = 3
    clear(scheduler, task_ids=("make",), include_downstream=True)
    scheduler.beats()
    lists.length = 5
    clear(scheduler, task_ids=("make",))
    scheduler.beats()
    clear(scheduler, task_ids=("each",), map_indexes=(0,))
    scheduler.beats()
    assert each(scheduler.task_states(run_id), "success") == names(0, 1, 2, 3, 4)


def test_a_mapping_over_a_mapping_over_nothing_is_over_nothing(scheduler: TestScheduler, lists: Lists) -> None:
    """Case A36, with a rule that lets the second mapping go on after the first was skipped."""
    first = TaskDocument("each", upstream=("make",), expand=over("make"))
    second = TaskDocument("second", upstream=("each",), expand=over("each"), trigger_rule="none_failed")
    scheduler.install(a_dag("d", TaskDocument("make"), first, second))
    lists.length = 0
    run_id = scheduler.trigger("d")
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"make": "success", "each": "skipped", "second": "skipped"}
    lists.length = 2
    clear(scheduler)
    scheduler.beats()
    lists.length = 0
    clear(scheduler)
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert {name: state for name, state in states.items() if state != "removed"} == {
        "make": "success",
        "each": "skipped",
        "second": "skipped",
    }
    assert scheduler.run_states("d") == {run_id: "success"}


def test_a_list_that_was_cleared_is_not_mapped_over_when_its_task_is_skipped(
    scheduler: TestScheduler, lists: Lists
) -> None:
    """What a task pushed in an earlier life is nobody's result."""
    each_one = TaskDocument("each", upstream=("make",), expand=over("make"), trigger_rule="all_done")
    scheduler.install(a_dag("d", TaskDocument("make"), each_one))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    scheduler.executor.outcome = lambda one: {"outcome": "skipped"} if one["task_id"] == "make" else lists(one)
    clear(scheduler)
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert states["make"] == "skipped"
    assert set(states.values()) == {"skipped", "failed"}, "there is nothing to map over, and it says so"


def test_one_instance_that_is_cleared_runs_alone(scheduler: TestScheduler) -> None:
    tasks = TaskDocument("make"), TaskDocument("each", upstream=("make",), expand=over("make"))
    scheduler.install(a_dag("d", *tasks))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    scheduler.executor.taken.clear()
    clear(scheduler, task_ids=("each",), map_indexes=(3,))
    scheduler.beats()
    assert [(one["map_index"], one["try_number"]) for one in scheduler.executor.taken] == [(3, 2)]
    assert scheduler.run_states("d") == {run_id: "success"}
