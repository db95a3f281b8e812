"""``@task``, ``@dag``, mapped tasks, and what the task runtime gets of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import pytest

from treadle import DAG, BashOperator, EmptyOperator, Param, PythonOperator, TaskGroup, XComArg, dag, literal, task
from treadle.expansion import indexes_of
from treadle.lengths import length_of
from treadle.operators.mapped import MappedOperator
from treadle.resolvable import resolve_nested
from treadle.serialization import document_of


class Answers:
    """A resolver that answers from a dict of task id (and key) to value."""

    def __init__(self, values: dict[Any, Any], params: dict[str, Any] | None = None) -> None:
        self.values, self.params = values, params or {}

    def value(self, reference: XComArg) -> Any:
        return self.values[reference.operator.task_id, reference.key]

    def item(self, reference: XComArg, index: int) -> Any:
        return self.value(reference)[index]

    def length(self, reference: XComArg) -> int:
        return len(self.value(reference))

    def in_bulk(self) -> Answers:
        return self

    def param(self, name: str) -> Any:
        return self.params[name]

    def group_indexes(self, group: TaskGroup) -> Sequence[int]:
        raise NotImplementedError(group)


class Row(TypedDict):
    a: int


def mapped_task(result: XComArg) -> MappedOperator:
    assert isinstance(result.operator, MappedOperator)
    return result.operator


def test_a_call_makes_a_task_with_all_operator_arguments() -> None:
    @task(retries=3, pool="db", task_id="renamed", trigger_rule="all_done")
    def load(x: int, y: int = 2) -> None:
        """Load it."""

    with DAG("d"):
        operator = load(1, y=3).operator
    assert (operator.task_id, operator.retries, operator.pool, operator.trigger_rule) == (
        "renamed",
        3,
        "db",
        "all_done",
    )
    assert operator.doc_md == "Load it."
    assert isinstance(operator, PythonOperator)
    assert (operator.op_args, operator.op_kwargs) == ([1], {"y": 3})
    assert operator.operator_name == "@task"


def test_further_calls_get_numbers_within_their_group() -> None:
    @task
    def f() -> None: ...

    with DAG("d") as made:
        f(), f()
        with TaskGroup("g"):
            f(), f(), f.override(task_id="f__1")()
        f.override(task_id="h", retries=2)()
    assert made.task_ids == ["f", "f__1", "g.f", "g.f__1", "g.f__1__1", "h"]
    assert made.get_task("h").retries == 2


def test_multiple_outputs_follow_the_return_annotation() -> None:
    def plain(): ...
    def mapping() -> dict[str, int]: ...  # type: ignore[empty-body]
    def typed() -> Row: ...  # type: ignore[empty-body]
    def unknown() -> OnlyForCheckers: ...  # type: ignore[name-defined]  # noqa: F821
    def listed() -> list[int]: ...  # type: ignore[empty-body]

    with DAG("d"):
        found = [task(one)().operator.multiple_outputs for one in (plain, mapping, typed, unknown, listed)]
        assert not task(multiple_outputs=False)(mapping)().operator.multiple_outputs
    assert found == [False, True, True, False, False]


def test_the_function_is_still_callable_by_itself() -> None:
    @task
    def double(x: int) -> int:
        return 2 * x

    assert double.function(2) == 4
    assert double.__name__ == "double"


def test_context_names_are_filled_when_the_task_runs() -> None:
    @task
    def f(x: int, ds: str, ti: Any = None, *, params: Any = None, other: int = 7) -> Any:
        return x, ds, ti, params, other

    @task
    def g(**context: Any) -> Any:
        return sorted(context)

    @task
    async def h(x: int) -> int:
        return x + 1

    context = {"ds": "2025-01-01", "ti": "TI", "params": {"a": 1}, "other": 9, "run_id": "r"}
    with DAG("d"):
        assert f(1).operator.execute(context) == (1, "2025-01-01", "TI", {"a": 1}, 7)
        assert f(1, "given").operator.execute(context)[1] == "given"
        assert g(run_id="mine").operator.execute(context) == ["ds", "other", "params", "run_id", "ti"]
        assert h(1).operator.execute(context) == 2


def test_arguments_resolve_through_lists_and_dicts() -> None:
    @task
    def f(x: Any) -> None: ...

    with DAG("d") as made:
        a, b = EmptyOperator(task_id="a").output, EmptyOperator(task_id="b").output
        operator = f({"deep": [a, (b["k"], made.param("days", 3))], "text": "{{ ds }}"}).operator
    assert operator.upstream_task_ids == {"a", "b"}
    assert isinstance(operator, PythonOperator)
    answers = Answers({("a", "return_value"): 1, ("b", "k"): 2}, {"days": 4})
    assert resolve_nested(operator.op_args, answers) == [{"deep": [1, (2, 4)], "text": "{{ ds }}"}]


def test_a_mapped_function_becomes_one_instance_per_combination() -> None:
    @task
    def source() -> Any: ...

    @task(retries=4)
    def f(x: int, y: str, z: Any) -> None: ...

    with DAG("d"), TaskGroup("g"):
        result = f.partial(z=source()).expand(x=source(), y=["a", "{{ ds }}"])
        result >> EmptyOperator(task_id="end")
    operator = mapped_task(result)
    expand = operator.expand_input.document()
    assert [(one.name, one.length, one.task_id) for one in expand.arguments] == [
        ("x", None, "g.source__1"),
        ("y", 2, None),
    ]
    assert operator.upstream_task_ids == {"g.source", "g.source__1"}
    assert [length_of(one, lambda _: 3) for one in expand.arguments] == [3, 2]

    answers = Answers({("g.source__1", "return_value"): ["{{ data }}", 6, 7]})
    instance = operator.unmap(operator.expand_input.values_at(indexes_of(1, [3, 2]), answers))
    assert isinstance(instance, PythonOperator)
    assert instance.op_kwargs["x"] == literal("{{ data }}")
    assert instance.op_kwargs["y"] == "{{ ds }}"
    assert isinstance(instance.op_kwargs["z"], XComArg)
    assert (instance.task_id, instance.label, instance.retries) == ("g.f", "f", 4)
    assert instance.upstream_task_ids == operator.upstream_task_ids
    assert instance.dag is operator.dag
    assert operator.dag is not None
    assert operator.dag.get_task("g.f") is operator


def test_indexes_count_with_the_last_argument_fastest() -> None:
    assert [indexes_of(index, [2, 3]) for index in range(6)] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]


def test_an_operator_is_mapped_with_default_args_of_every_level() -> None:
    with DAG("d", default_args={"retries": 2, "append_env": True}):
        operator = BashOperator.partial(task_id="a", pool="db", env={"A": "b"}).expand(bash_command=["x", "y"])
    assert (operator.retries, operator.pool, operator.operator_name) == (2, "db", "BashOperator")
    instance = operator.unmap({"bash_command": "y"})
    assert isinstance(instance, BashOperator)
    assert (instance.bash_command, instance.env, instance.append_env, instance.retries) == ("y", {"A": "b"}, True, 2)


def test_expand_kwargs_maps_over_dicts_of_arguments() -> None:
    @task
    def source() -> Any: ...

    with DAG("d"):
        literals = BashOperator.partial(task_id="a").expand_kwargs(
            [{"bash_command": "x"}, {"bash_command": "{{ ds }}"}]
        )
        pulled = BashOperator.partial(task_id="b").expand_kwargs(source())
    assert literals.expand_input.document().arguments[0].length == 2
    assert literals.expand_input.values_at([1], Answers({})) == {"bash_command": "{{ ds }}"}
    answers = Answers({("source", "return_value"): [{"bash_command": "{{ no }}", "append_env": True}, 5]})
    instance = pulled.unmap(pulled.expand_input.values_at([0], answers))
    assert isinstance(instance, BashOperator)
    assert instance.bash_command == literal("{{ no }}")
    assert instance.append_env is True
    with pytest.raises(TypeError, match="expand_kwargs needs dicts"):
        pulled.expand_input.values_at([1], answers)


def test_a_dict_is_mapped_over_its_pairs() -> None:
    @task
    def f(pair: Any) -> None: ...

    with DAG("d"):
        operator = mapped_task(f.expand(pair={"a": 1, "b": 2}))
    assert operator.expand_input.values_at([1], Answers({})) == {"pair": ("b", 2)}


def test_dag_arguments_become_params_that_tasks_get_at_run_time() -> None:
    @dag(schedule="@daily", params={"declared": Param("x", type="string"), "extra": 5})
    def etl(declared: Any, days: int = 3, table: str = "t") -> None:
        """Load days."""
        BashOperator(task_id="a", bash_command=f"load {days} {table}", env={"DAYS": days})  # type: ignore[dict-item]

    made = etl(table="other")
    assert made.dag_id == "etl"
    assert made.doc_md == "Load days."
    assert made.params.dump() == {"declared": "x", "extra": 5, "days": 3, "table": "other"}
    operator = made.get_task("a")
    assert isinstance(operator, BashOperator)
    assert operator.bash_command == "load {{ params['days'] }} {{ params['table'] }}"
    assert resolve_nested(operator.env, Answers({}, {"days": 9})) == {"DAYS": 9}


def test_a_dags_line_is_that_of_its_function() -> None:
    @dag
    def etl() -> None: ...

    made = etl()
    assert document_of(made).line == etl.function.__code__.co_firstlineno


def test_tasks_can_be_bound_to_a_dag_without_a_with_block() -> None:
    made = DAG("d")

    @made.task(retries=1)
    def f() -> None: ...

    f()
    assert made.task_ids == ["f"]
