"""What a task gets of the results of others: arguments, ``xcom_pull``, mapped tasks."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.runtime.attempts import Answers, attempt, returned

from treadle import DAG, task
from treadle.runtime.supervisor import XComQuestion

MAPPED = {0: "a", 1: "b", 3: "d"}


def pulled(*args: Any, xcoms: dict[Any, Any] | None = None, **kwargs: Any) -> Any:
    with DAG("d") as dag:

        @task
        def t(ti: Any = None) -> Any:
            return [ti.xcom_pull(*args, **kwargs)]

        t()
    return returned(attempt(dag, "t", Answers(xcoms if xcoms is not None else {"one": 1, "many": MAPPED})))[0]


@pytest.mark.parametrize(
    ("args", "kwargs", "value"),
    [
        (("one",), {}, 1),
        (("none",), {}, None),
        (("none",), {"default": 5}, 5),
        (("many",), {}, ["a", "b", "d"]),
        (("many",), {"map_indexes": 1}, "b"),
        (("many",), {"map_indexes": 2}, None),
        (("many",), {"map_indexes": [3, 0]}, ["d", "a"]),
        (("many",), {"map_indexes": [2]}, []),
        ((["one", "none", "many"],), {"default": "?"}, [1, "?", "a", "b", "d"]),
        ((["one"],), {}, [1]),
        ((), {}, None),
        (("one",), {"key": "other"}, 1),
    ],
)
def test_xcom_pull_gives_one_value_or_a_list(args: Any, kwargs: Any, value: Any) -> None:
    assert pulled(*args, **kwargs) == value


def test_a_mapped_task_of_one_instance_still_gives_a_list() -> None:
    assert pulled("many", xcoms={"many": {0: "only"}}) == ["only"]


def test_what_the_attempt_pushed_itself_is_seen_before_it_is_stored() -> None:
    with DAG("d") as dag:

        @task
        def t(ti: Any = None) -> Any:
            ti.xcom_push("k", {"a": (1,)})
            return ti.xcom_pull(key="k"), ti.xcom_pull("t", key="k")

        t()
    answers = Answers()
    assert returned(attempt(dag, "t", answers)) == ({"a": (1,)}, {"a": (1,)})
    assert answers.asked == []


def test_all_arguments_are_fetched_with_one_question() -> None:
    with DAG("d") as dag:

        @task
        def up() -> Any:
            return None

        @task
        def down(a: Any, b: Any, c: Any, d: Any) -> Any:
            return [a, b, c, d]

        first, second = up(), up.override(task_id="second")()
        down(first, {"x": [second]}, first["key"], [first, second])
    answers = Answers({"up": 1, "second": 2, ("up", "key"): "k"})
    assert returned(attempt(dag, "down", answers)) == [1, {"x": [2]}, "k", [1, 2]]
    assert len(answers.asked) == 1
    assert len(answers.asked[0]) == 3


def test_a_result_that_is_not_there_is_none_and_a_mapped_one_is_a_list() -> None:
    with DAG("d") as dag:

        @task
        def up(x: int = 0) -> int:
            return x

        @task
        def down(a: Any, b: Any) -> Any:
            return [a, b]

        down(up(), up.override(task_id="many").expand(x=[1, 2, 3, 4]))
    assert returned(attempt(dag, "down", Answers({"many": MAPPED}))) == [None, ["a", "b", "d"]]


def mapped_dag() -> DAG:
    with DAG("d") as dag:

        @task
        def up(x: int = 0) -> int:
            return x

        @task(map_index_template="{{ task.op_kwargs.x }}")
        def down(x: Any, y: Any, fixed: Any) -> Any:
            return [x, y, fixed]

        many = up.override(task_id="many").expand(x=[1, 2, 3])
        down.partial(fixed=up()).expand(x=many, y=["{{ ds }}", 5])
    return dag


def test_a_mapped_instance_gets_its_items_and_fetches_only_those() -> None:
    answers = Answers({"up": "u", "many": {0: "a", 1: "{{ 7 * 7 }}"}})
    result = attempt(mapped_dag(), "down", answers, map_index=2, expand_index=[1, 0])
    assert returned(result) == ["{{ 7 * 7 }}", "2024-03-10", "u"]
    assert result.rendered_map_index == "{{ 7 * 7 }}"
    assert len(answers.asked) == 1
    assert set(answers.asked[0]) == {XComQuestion("up"), XComQuestion("many", map_indexes=(1,))}


def test_without_expand_index_it_follows_from_the_map_index_and_the_lengths() -> None:
    answers = Answers({"up": "u", "many": {0: "a", 1: "b"}})
    assert returned(attempt(mapped_dag(), "down", answers, map_index=3)) == ["b", 5, "u"]


def test_without_expand_index_the_number_of_instances_of_a_mapped_task_is_asked_for() -> None:
    with DAG("d") as dag:

        @task
        def up(x: int) -> int:
            return x

        @task
        def down(x: int, y: int) -> Any:
            return [x, y]

        down.expand(x=[1, 2], y=up.expand(x=[1, 2, 3]))
    answers = Answers({"up": {0: "a", 1: "b", 2: "c"}})
    assert returned(attempt(dag, "down", answers, map_index=4)) == [2, "b"]


def test_a_mapped_dict_gives_pairs_and_expand_kwargs_gives_arguments() -> None:
    with DAG("d") as dag:

        @task
        def up() -> Any:
            return None

        @task
        def pair(x: Any) -> Any:
            return x

        @task
        def both(a: Any, b: Any = 0) -> Any:
            return [a, b]

        result = up()
        pair.expand(x=result)
        both.expand_kwargs([{"a": 1}, {"a": result, "b": 2}])
        both.override(task_id="far").expand_kwargs(result)
    answers = Answers({"up": {"k": "v", "l": "w"}})
    assert returned(attempt(dag, "pair", answers, map_index=1, expand_index=[1])) == ("l", "w")
    assert returned(attempt(dag, "both", answers, map_index=1, expand_index=[1])) == [{"k": "v", "l": "w"}, 2]
    rows = Answers({"up": [{"a": "{{ 1 }}"}]})
    assert returned(attempt(dag, "far", rows, map_index=0, expand_index=[0])) == ["{{ 1 }}", 0]


def test_an_item_that_is_gone_says_to_clear_the_task() -> None:
    with DAG("d") as dag:

        @task
        def up() -> Any:
            return None

        @task
        def down(x: Any) -> Any:
            return x

        down.expand(x=up())
    error = attempt(dag, "down", Answers({"up": [1]}), map_index=4, expand_index=[4]).error
    assert error is not None
    assert "no item 4 any more" in error["message"]
    assert "clear this task" in error["message"]
