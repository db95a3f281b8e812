"""``map``, ``zip`` and ``concat`` of results, mapped over and as arguments; long joins in pages; single elements."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.runtime.attempts import Answers, attempt, returned

from treadle import DAG, DagError, SkipTask, XComArg, task
from treadle.document import ExpandArgument, dumps, loads
from treadle.lengths import length_of, results_in
from treadle.runtime.supervisor import XComQuestion
from treadle.serialization import document_of

LISTS = st.lists(st.integers(), max_size=4)


def combining(combine: Callable[[XComArg, XComArg], Any], first: list[Any], second: list[Any]) -> DAG:
    """A task mapped over, and one that is given, the combination of a plain list and a mapped task's results."""
    with DAG("d") as dag:

        @task
        def plain() -> Any:
            return first

        @task
        def many(x: Any) -> Any:
            return x

        @task
        def each(value: Any) -> Any:
            return value

        combined = combine(plain(), many.expand(x=second))
        each.expand(value=combined)
        each.override(task_id="all")(combined)
    return dag


@given(first=LISTS, second=LISTS.filter(bool))
@pytest.mark.parametrize("kind", ["zip", "zip_longest", "concat", "both"])
def test_a_combination_is_what_python_makes_of_the_same_lists(kind: str, first: list[int], second: list[int]) -> None:
    combine: dict[str, Any] = {
        "zip": lambda a, b: a.zip(b),
        "zip_longest": lambda a, b: a.zip(b, fillvalue=None),
        "concat": lambda a, b: a.concat(b, a),
        "both": lambda a, b: a.concat(b.map(lambda x: x * 2)).zip(b, fillvalue="-").map(str),
    }
    doubled = [2 * one for one in second]
    expected: dict[str, list[Any]] = {
        "zip": list(zip(first, second, strict=False)),
        "zip_longest": list(zip_longest(first, second)),
        "concat": [*first, *second, *first],
        "both": [str(one) for one in zip_longest(first + doubled, second, fillvalue="-")],
    }
    result = combining(combine[kind], first, second).test()
    assert result.xcoms.get("each", []) == expected[kind]
    assert result.xcoms["all"] == expected[kind]
    assert result.state == "success"


def test_a_function_that_skips_in_map_is_a_filter_for_instances() -> None:
    def only_even(x: int) -> int:
        if x % 2:
            raise SkipTask(f"{x} is odd")
        return x * 10

    with DAG("d") as dag:

        @task
        def numbers() -> list[int]:
            return [1, 2, 3, 4]

        @task
        def each(x: int) -> int:
            return x

        @task(trigger_rule="none_failed")
        def total(values: Any) -> int:
            return sum(values)

        total(each.expand(x=numbers().map(only_even)))
    result = dag.test()
    assert [one.state for one in result.instances("each")] == ["skipped", "success", "skipped", "success"]
    assert result.task("total").value == 60


def test_documents_tell_how_long_a_combination_is() -> None:
    dag = combining(lambda a, b: a.map(str).zip(b.concat(a, b["k"]), a, fillvalue=0), [], [1])
    (argument,) = next(one.expand for one in document_of(dag).tasks if one.task_id == "each").arguments  # type: ignore[union-attr]
    a, b, k = (ExpandArgument("value", task_id=one) for one in ("plain", "many", "many"))
    k = ExpandArgument("value", task_id="many", key="k")
    concatenated = ExpandArgument("value", combine="concat", sources=(b, a, k))
    assert argument == ExpandArgument("value", combine="zip_longest", sources=(a, concatenated, a))
    assert loads(dumps(document_of(dag))) == document_of(dag)
    lengths = {"plain": 2, "many": 3}
    assert length_of(argument, lambda one: lengths[str(one.task_id)]) == 8
    assert length_of(argument, lambda one: None if one.key == "k" else 1) is None
    assert list(results_in(argument)) == [a, b, a, k, a]
    assert {one.task_id: one.upstream for one in document_of(dag).tasks}["each"] == ("many", "plain")


def test_a_source_that_cannot_be_mapped_over_is_named() -> None:
    with DAG("d") as dag:

        @task
        def lst() -> Any:
            return [1]

        @task
        def text() -> Any:
            return "text"

        @task
        def each(x: Any) -> Any:
            return x

        each.expand(x=lst().concat(text()))
        each.override(task_id="whole")(lst.override(task_id="l")().zip(text.override(task_id="t")()))
    result = dag.test()
    assert (
        result.task("each").message == "cannot expand 'each': task 'text' pushed no list or dict as XCom 'return_value'"
    )
    assert result.task("whole").message == "task 't' pushed no list or dict as XCom 'return_value'"


def test_dicts_are_combined_by_their_pairs_and_kwargs_can_be_mapped() -> None:
    with DAG("d") as dag:

        @task
        def sizes() -> dict[str, int]:
            return {"a": 1, "b": 2}

        @task
        def each(name: str, size: int) -> str:
            return name * size

        found = sizes.override(multiple_outputs=False)()
        each.expand_kwargs(found.map(lambda pair: {"name": pair[0], "size": pair[1]}))
    assert dag.test().xcoms["each"] == ["a", "bb"]


def test_only_results_and_plain_functions_can_be_combined() -> None:
    with DAG("d"):

        @task
        def f() -> Any: ...

        result = f()
        with pytest.raises(DagError, match=r"map takes a plain function, not @task function 'f'; expand\(\) maps"):
            result.map(f)
        with pytest.raises(DagError, match="map takes a function of one element, not 3"):
            result.map(3)  # type: ignore[arg-type]
        with pytest.raises(DagError, match=r"zip takes results of tasks, not \[1\] \(list\)"):
            result.zip([1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="is not known while the file is parsed"):
            list(result.zip(result))


def joining() -> DAG:
    with DAG("d") as dag:

        @task
        def many(x: int) -> int:
            return x

        @task
        def whole(values: Any) -> Any:
            return [len(values), sum(values)]

        @task
        def parts(values: Any) -> Any:
            return [values[2], values[-1], values[1499:1502], values[9_990:]]

        @task
        def back(values: Any) -> Any:
            return values

        results = many.expand(x=list(range(10_000)))
        whole(results), parts(results), back(results)
        back.override(task_id="squares")(results.map(lambda x: x * x))
    return dag


class Counting(Answers):
    """Remembers how many rows each question found."""

    def __init__(self) -> None:
        super().__init__({"many": {index: index for index in range(10_000)}})
        self.found: list[int] = []

    def get_xcoms(self, questions: Any) -> Any:
        answers = super().get_xcoms(questions)
        self.found += [len(one) for one in answers]
        return answers

    def _found(self, question: XComQuestion) -> Any:
        self._stored = getattr(self, "_stored", None) or self.filled("many", self.xcoms["many"])
        return self._stored.get_xcoms([question])[0]


def test_a_join_over_ten_thousand_results_holds_a_page_at_a_time() -> None:
    answers = Counting()
    assert returned(attempt(joining(), "whole", answers)) == [10_000, sum(range(10_000))]
    assert max(answers.found) == 500
    assert sum(answers.found) == 10_001


def test_elements_and_slices_fetch_only_their_pages() -> None:
    answers = Counting()
    expected = [2, 9_999, [1499, 1500, 1501], list(range(9_990, 10_000))]
    assert returned(attempt(joining(), "parts", answers)) == expected
    assert sum(answers.found) == 5 * 500 + 1


@pytest.mark.parametrize(("name", "expected"), [("back", lambda x: x), ("squares", lambda x: x * x)])
def test_a_lazy_sequence_can_be_returned_like_a_list(name: str, expected: Callable[[int], int]) -> None:
    answers = Counting()
    result = attempt(joining(), name, answers)
    assert returned(result) == [expected(x) for x in range(10_000)]
    assert [one["length"] for one in result.xcoms] == [10_000]
    assert max(answers.found) == 500


def test_lazy_sequences_print_copy_and_travel_like_lists() -> None:
    with DAG("d") as dag:

        @task
        def many(x: int) -> int:
            return x

        @task
        def look(values: Any, doubled: Any) -> Any:
            copies = [pickle.loads(pickle.dumps(one)) for one in (values, doubled)]
            copies.append(copy.deepcopy(values))
            return [repr(values), copies, [type(one).__name__ for one in copies]]

        results = many.expand(x=[1, 2])
        look(results, results.map(lambda x: 2 * x))
    assert dag.test().task("look").value == ["[1, 2]", [[1, 2], [2, 4], [1, 2]], ["list"] * 3]
    long = attempt(joining(), "whole", Counting()).rendered_fields
    assert long is not None
    (shown,) = long["op_args"]
    assert (shown[:2], shown[-1]) == ([0, 1], "... (more)")


def test_an_instance_of_a_task_mapped_over_a_long_list_fetches_one_element() -> None:
    with DAG("d") as dag:

        @task
        def make() -> list[int]: ...  # type: ignore[empty-body]

        @task
        def each(x: int) -> int:
            return x

        made = make()
        each.expand(x=made)
        each.override(task_id="combined").expand(x=made.map(lambda x: -x).concat(made))
    answers = Answers({"make": list(range(10_000))})
    assert returned(attempt(dag, "each", answers, map_index=7_000, expand_index=[7_000])) == 7_000
    assert answers.asked == [[XComQuestion("make", item=7_000)]]
    answers.asked.clear()
    assert returned(attempt(dag, "combined", answers, map_index=3, expand_index=[3])) == -3
    assert returned(attempt(dag, "combined", answers, map_index=10_003, expand_index=[10_003])) == 3
    assert {(one.ask, one.item) for batch in answers.asked for one in batch} == {("length", None), ("values", 3)}


def test_an_element_beyond_a_combination_says_to_clear_the_task() -> None:
    dag = combining(lambda a, b: a.concat(b), [1], [2])
    answers = Answers({"plain": [1], "many": {0: 2}})
    error = attempt(dag, "each", answers, map_index=5, expand_index=[5]).error
    assert error is not None
    assert "has no element 5 any more, only 2" in error["message"]
