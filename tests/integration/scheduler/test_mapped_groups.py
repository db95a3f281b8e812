"""Mapped task groups under the real loop, with real task code; what ``dag.test()`` says of the same DAG is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.functions import Functions
from tests.support.mapped_groups import (
    barred,
    branching,
    chained,
    empty,
    failing,
    filtered,
    of_kwargs,
    of_mapped,
    set_up,
    short_circuited,
    unfounded,
)
from tests.support.scheduling import TestScheduler

from treadle import DAG, xcom
from treadle.serialization import document_of, validate
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    return TestScheduler(database, settings, clock)


def begin(scheduler: TestScheduler, dag: DAG) -> str:
    validate(dag)
    scheduler.executor.outcome = Functions(scheduler.database, dag)
    scheduler.install(document_of(dag))
    return scheduler.trigger(dag.dag_id)


def run(scheduler: TestScheduler, dag: DAG) -> dict[str, str]:
    run_id = begin(scheduler, dag)
    scheduler.beats()
    return scheduler.task_states(run_id)


def values(scheduler: TestScheduler) -> dict[str, Any]:
    """Return what every task returned, as a test in memory tells it: of a mapped one a list, in index order."""
    with scheduler.database.begin() as connection:
        found = rows(
            connection,
            """
            SELECT instance.task_id, instance.map_index, xcom.value
            FROM xcom JOIN task_instance AS instance ON instance.id = xcom.task_instance_id
            WHERE xcom.key = 'return_value' ORDER BY instance.task_id, instance.map_index
            """,
        )
    pushed: dict[str, Any] = {}
    for row in found:
        value = xcom.loads(row["value"])
        if row["map_index"] < 0:
            pushed[row["task_id"]] = value
        else:
            pushed.setdefault(row["task_id"], []).append(value)
    return pushed


def plus(states: dict[str, str], name: str) -> dict[int, str]:
    """Return the states of a task's instances by index."""
    return {int(key[len(name) + 1 : -1]): own for key, own in states.items() if key.startswith(f"{name}[")}


@pytest.mark.parametrize(
    "make",
    [filtered, barred, branching, chained, of_kwargs, of_mapped, empty, failing, set_up, short_circuited, unfounded],
)
def test_the_scheduler_and_a_run_in_memory_agree(scheduler: TestScheduler, make: Callable[[], DAG]) -> None:
    dag = make()
    tested = dag.test()
    assert run(scheduler, dag) == tested.states
    assert list(scheduler.run_states(dag.dag_id).values()) == [tested.state]
    assert values(scheduler) == tested.xcoms


def test_a_branch_in_a_mapped_group_speaks_for_its_own_index() -> None:
    """Case A31; that the scheduler does the same is tested above."""
    states = branching().test().states
    assert plus(states, "group.foo") == {0: "success", 1: "skipped", 2: "skipped"}
    assert plus(states, "group.bar") == {0: "skipped", 1: "success", 2: "success"}
    assert plus(states, "group.join") == {0: "success", 1: "success", 2: "success"}


def test_a_join_after_a_group_gets_all_results_in_index_order() -> None:
    found = chained().test().xcoms
    assert (found["work.by_name"], found["added"]) == ([120, 130, 140], 390)


def test_a_group_is_mapped_over_dicts_of_arguments_and_over_the_results_of_a_group() -> None:
    found = of_kwargs().test().xcoms
    assert (found["first.product"], found["second.tenfold"]) == ([5, 14], [60, 150])


def test_a_group_is_mapped_over_a_product_of_mapped_results_and_pairs() -> None:
    found = of_mapped().test().xcoms["group.show"]
    assert found == [[1, "a", 1], [1, "b", 2], [None, "a", 1], [None, "b", 2]]


def test_a_filter_skips_the_instances_that_it_takes_out() -> None:
    tested = filtered().test()
    assert plus(tested.states, "group.one_more") == {0: "skipped", 1: "success", 2: "skipped", 3: "success"}
    assert tested.xcoms["after"] == 62


def test_a_group_over_nothing_is_skipped() -> None:
    assert empty().test().states == {
        "make": "success",
        "group.whatever": "skipped",
        "group.one_more": "skipped",
        "after": "success",
    }


def test_a_failure_stays_within_its_index() -> None:
    tested = failing().test()
    assert plus(tested.states, "group.one_more") == {0: "success", 1: "upstream_failed", 2: "success"}
    assert plus(tested.states, "group.tidy") == {0: "success", 1: "success", 2: "success"}
    assert tested.xcoms["after"] == [2, 4]


def test_setups_and_teardowns_of_a_group_belong_to_their_index() -> None:
    states = set_up().test().states
    assert plus(states, "group.between") == {0: "success", 1: "upstream_failed", 2: "failed"}
    assert plus(states, "group.one_more") == {0: "success", 1: "upstream_failed", 2: "upstream_failed"}
    assert plus(states, "group.tidy") == {0: "success", 1: "upstream_failed", 2: "success"}


def test_what_cannot_be_mapped_over_says_so(scheduler: TestScheduler) -> None:
    states = run(scheduler, unfounded())
    assert states["over_a_failure.one_more"] == "upstream_failed"
    assert states["over_a_number.one_more"] == "failed"
    assert states["over_a_number.last"] == "upstream_failed"
    with scheduler.database.begin() as connection:
        found = rows(connection, "SELECT waiting_for FROM task_instance WHERE task_id = 'over_a_number.one_more'")
    assert found[0]["waiting_for"] == (
        "cannot expand 'over_a_number': task 'number' pushed no list or dict as XCom 'return_value'"
    )
