"""Weights of users' own: asked when the file is read, stored as numbers, never run by a scheduler."""

from __future__ import annotations

from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest

from treadle import DAG, PriorityWeightStrategy, document
from treadle.document import DagDocument
from treadle.errors import DagError, InvalidArgumentError
from treadle.operators.empty import EmptyOperator
from treadle.priority import MOST_WEIGHT
from treadle.serialization import document_of
from treadle_metadata.deciding.graph import compile_graph


class FewerEachTry(PriorityWeightStrategy):
    """The example of Airflow's manual: each further try weighs less."""

    def get_weight(self, ti: Any) -> int:
        return max(3 - int(ti.try_number) + 1, 1)


class Fixed(PriorityWeightStrategy):
    """What it was made with."""

    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def get_weight(self, ti: Any) -> int:
        return self.weight(ti) if callable(self.weight) else self.weight


def read(rule: Any, **arguments: Any) -> DagDocument:
    """Return the document of a chain of two tasks, as it comes back from the database."""
    with DAG("d") as dag:
        first = EmptyOperator(task_id="first", weight_rule=rule, **arguments)
        first >> EmptyOperator(task_id="second")
    return document.loads(document.to_json(document_of(dag)))


@pytest.mark.parametrize(("retries", "weights"), [(0, (3,)), (1, (3, 2)), (2, (3, 2, 1)), (9, (3, 2, 1))])
def test_each_try_is_weighed_and_equal_ones_at_the_end_are_left_out(retries: int, weights: tuple[int, ...]) -> None:
    task = read(FewerEachTry, retries=retries).tasks[0]
    assert task.weights == weights
    assert task.weight_rule == f"{__name__}.FewerEachTry"


def test_the_weight_of_the_first_try_is_that_of_the_task_alone() -> None:
    graph = compile_graph(read(Fixed(7), priority_weight=100))
    assert [node.weight for node in graph.nodes] == [7, 1]


def test_a_strategy_knows_the_task_and_its_try() -> None:
    seen: dict[str, Any] = {}

    def weigh(ti: Any) -> int:
        seen.update({name: getattr(ti, name) for name in ("dag_id", "task_id", "pool", "priority_weight", "max_tries")})
        return len(ti.task.downstream_task_ids)

    assert read(Fixed(weigh), priority_weight=5, retries=1).tasks[0].weights == (1,)
    assert seen == {"dag_id": "d", "task_id": "first", "pool": "default_pool", "priority_weight": 5, "max_tries": 1}


@pytest.mark.parametrize(("weight", "stored"), [(2**40, MOST_WEIGHT), (-(2**40), -MOST_WEIGHT), (0, 0)])
def test_weights_are_cut_off_at_32_bits(weight: int, stored: int) -> None:
    assert read(Fixed(weight)).tasks[0].weights == (stored,)


def test_what_belongs_to_a_run_is_refused_with_the_reason() -> None:
    with pytest.raises(DagError, match="asked before there is a run: the task has no 'logical_date' then"):
        read(Fixed(lambda ti: ti.logical_date.day))


@pytest.mark.parametrize("weight", ["7", 1.5, None, True])
def test_a_weight_that_is_no_whole_number_is_an_error_of_the_file(weight: Any) -> None:
    with pytest.raises(DagError, match="expected a whole number"):
        read(Fixed(weight))


def test_a_strategy_that_fails_names_the_task_and_the_fault() -> None:
    def weigh(_: Any) -> int:
        raise ZeroDivisionError("boom")

    with pytest.raises(DagError, match=r"first.*try 1.*ZeroDivisionError\('boom'\)"):
        read(Fixed(weigh))


def test_an_installed_strategy_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(name="fewer", load=lambda: FewerEachTry)
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: [found] if group == "treadle.priority_strategies" else []
    )
    assert read("fewer", retries=1).tasks[0].weights == (3, 2)
    with pytest.raises(InvalidArgumentError, match="did you mean 'fewer'"):
        read("fewr")


def test_a_rule_leaves_the_weights_to_the_server() -> None:
    assert read("upstream").tasks[0].weights == ()
