"""DAGs with mapped task groups: what can stand in one, what it can be mapped over, and what can go wrong in it."""

from __future__ import annotations

from typing import Any

from treadle import DAG, SkipTask, TaskGroup, setup, task, task_group, teardown


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


def filtered() -> DAG:
    """A filter on what the group is mapped over skips the tasks that ask for the item, and what follows them."""

    def even(x: int) -> int:
        if x % 2:
            raise SkipTask("odd")
        return x

    with DAG("filtered") as dag:

        @task
        def make() -> list[int]:
            return [1, 2, 3, 4]

        @task(trigger_rule="none_failed")
        def after(xs: Any) -> int:
            return sum(xs)

        @task_group
        def group(x: int) -> Any:
            return one_more(tenfold(x))

        after(group.expand(x=make().map(even)))
    return dag
