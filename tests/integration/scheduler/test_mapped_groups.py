"""Mapped task groups under the real loop, with real task code; what ``dag.test()`` says of the same DAG is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.functions import Functions
from tests.support.scheduling import TestScheduler

from treadle import DAG, SkipTask, TaskGroup, setup, task, task_group, teardown, xcom
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


@task
def one_more(x: int) -> int:
    return x + 1


@task
def tenfold(x: int) -> int:
    return 10 * x


@task
def added(xs: Any) -> int:
    return sum(xs)


def branching() -> DAG:
    with DAG("branching") as dag:

        @task_group
        def group(n: int) -> None:
            @task.branch
            def choose(n: int) -> str:
                return "group.foo" if n == 1 else "group.bar"

            @task
            def foo() -> None:
                """Do nothing."""

            @task
            def bar() -> None:
                """Do nothing."""

            @task(trigger_rule="none_failed_min_one_success")
            def join() -> None:
                """Do nothing."""

            choose(n) >> [foo(), bar()] >> join()

        group.expand(n=[1, 2, 3])
    return dag


def chained() -> DAG:
    """A group over a result, with a fixed argument, a group inside, a result that is asked for by name, and a join."""
    with DAG("chained") as dag:

        @task
        def make() -> list[int]:
            return [1, 2, 3]

        @task
        def base() -> int:
            return 100

        @task
        def by_name(low: int, ti: Any = None) -> int:
            assert ti.xcom_pull(task_ids="work.inner.one_more") == ti.map_index + 2
            assert ti.xcom_pull(task_ids="work.inner.one_more", map_indexes=None) == [2, 3, 4]
            return low + int(ti.xcom_pull(task_ids="work.inner.tenfold"))

        @task_group
        def work(x: int, low: int) -> Any:
            with TaskGroup("inner"):
                last = tenfold(one_more(x))
            done = by_name(low)
            last >> done
            return done

        added(work.partial(low=base()).expand(x=make()))
    return dag


def of_kwargs() -> DAG:
    """A group over dicts of arguments that a task made, and a group over its results."""
    with DAG("of_kwargs") as dag:

        @task
        def make() -> list[dict[str, int]]:
            return [{"x": 1, "y": 5}, {"x": 2}]

        @task
        def product(x: int, y: int) -> int:
            return x * y

        @task_group
        def first(x: int, y: int = 7) -> Any:
            return product(x, y)

        @task_group
        def second(x: int) -> Any:
            return tenfold(one_more(x))

        added(second.expand(x=first.expand_kwargs(make())))
    return dag


def of_mapped() -> DAG:
    """A group over the results of a mapped task, one of which is skipped, times the pairs of a dict."""
    with DAG("of_mapped") as dag:

        @task
        def each(x: int) -> int:
            if x == 2:
                raise SkipTask("not two")
            return x

        @task(trigger_rule="none_failed")
        def show(x: int | None, pair: tuple[str, int]) -> list[Any]:
            return [x, *pair]

        @task_group
        def group(x: Any, pair: Any) -> Any:
            return show(x, pair)

        group.expand(x=each.expand(x=[1, 2]), pair={"a": 1, "b": 2})
    return dag


def empty() -> DAG:
    """Case A29, for a group: mapped over nothing all of it is skipped, and what comes after goes by its own rule."""
    with DAG("empty") as dag:

        @task
        def make() -> list[int]:
            return []

        @task(trigger_rule="always")
        def whatever(x: int) -> int:
            return x

        @task(trigger_rule="all_done")
        def after(xs: Any) -> int:
            return len(xs)

        @task_group
        def group(x: int) -> Any:
            return one_more(whatever(x))

        after(group.expand(x=make()))
    return dag


def failing() -> DAG:
    """One index fails: what waits for it within the group does, and a join that takes what is there goes on."""
    with DAG("failing") as dag:

        @task
        def fails_at_two(x: int) -> int:
            if x == 2:
                raise ValueError("two")
            return x

        @task(trigger_rule="all_done")
        def tidy(x: int) -> int:
            return x

        @task(trigger_rule="all_done")
        def after(xs: Any) -> list[int]:
            return list(xs)

        @task_group
        def group(x: int) -> Any:
            first = fails_at_two(x)
            last = one_more(first)
            first >> tidy(x)
            return last

        after(group.expand(x=[1, 2, 3]))
    return dag


def set_up() -> DAG:
    """Setup and teardown inside the group: each index has its own."""
    with DAG("set_up") as dag:

        @setup
        def prepare(x: int) -> int:
            if x == 2:
                raise ValueError("no room for two")
            return x

        @task
        def between(x: int) -> int:
            if x == 3:
                raise ValueError("three is broken")
            return x

        @teardown
        def tidy(x: int) -> int:
            return x

        @task_group
        def group(x: int) -> None:
            made = prepare(x)
            done = one_more(between(made))
            end = tidy(made)
            made >> done >> end

        group.expand(x=[1, 2, 3])
    return dag


def short_circuited() -> DAG:
    with DAG("short_circuited") as dag:

        @task.short_circuit
        def is_odd(x: int) -> bool:
            return x % 2 == 1

        @task(trigger_rule="all_done")
        def inside() -> None:
            """Do nothing."""

        @task(trigger_rule="none_failed")
        def after() -> None:
            """Do nothing."""

        @task_group
        def group(x: int) -> None:
            is_odd(x) >> inside()

        group.expand(x=[1, 2, 3]) >> after()
    return dag


def unfounded() -> DAG:
    """What the group is mapped over fails, or is no list."""
    with DAG("unfounded") as dag:

        @task
        def fails() -> list[int]:
            raise ValueError("no list")

        @task
        def number() -> int:
            return 7

        @task(trigger_rule="all_done")
        def last(x: int) -> int:
            return x

        @task_group
        def group(x: int) -> None:
            one_more(x) >> last(x)

        group.override(group_id="over_a_failure").expand(x=fails())
        group.override(group_id="over_a_number").expand(x=number())
    return dag


def barred() -> DAG:
    """Tasks of a group that wait for something outside that failed, or that a branch outside leaves out."""
    with DAG("barred") as dag:

        @task
        def fails() -> None:
            raise ValueError("outside")

        @task.branch
        def choose() -> str:
            return "chosen"

        @task
        def chosen() -> None:
            """Do nothing."""

        @task_group
        def group(x: int) -> None:
            tenfold(x)
            fails() >> one_more(x)

        @task_group
        def left_out(x: int) -> None:
            one_more(tenfold(x))

        group.expand(x=[1, 2])
        choose() >> [chosen(), left_out.expand(x=[1, 2])]
        fails.override(task_id="fails_too")() >> left_out.override(group_id="barred").expand(x=[1, 2])
    return dag


@pytest.mark.parametrize(
    "make", [barred, branching, chained, of_kwargs, of_mapped, empty, failing, set_up, short_circuited, unfounded]
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
