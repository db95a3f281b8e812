"""Operators: arguments, default_args, edges, groups, labels."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from treadle import (
    DAG,
    BaseOperator,
    BashOperator,
    DagError,
    EmptyOperator,
    Label,
    PythonOperator,
    TaskGroup,
    TriggerRule,
    WeightRule,
    chain,
    chain_linear,
    cross_downstream,
    task_group,
)
from treadle.serialization import document_of


class Copy(BaseOperator):
    template_fields = ("source",)

    def __init__(self, *, source: str, target: str = "here", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.source = source
        self.target = target


class Careful(Copy):
    def __init__(self, *, target: str = "there", **arguments: Any) -> None:
        super().__init__(source="fixed", retries=9, target=target, **arguments)


def edges(dag: DAG) -> set[tuple[str, str]]:
    return {(up, task.task_id) for task in dag.tasks for up in task.upstream_task_ids}


def test_default_args_reach_every_level_of_the_class_chain() -> None:
    with DAG("d", default_args={"source": "s", "target": "t", "retries": 3, "unheard_of": 1}):
        task = Copy(task_id="a")  # type: ignore[call-arg]  # default_args fill it
    assert (task.source, task.target, task.retries) == ("s", "t", 3)


def test_what_a_class_hands_to_its_parent_wins_over_default_args() -> None:
    with DAG("d", default_args={"source": "s", "retries": 3, "target": "t"}):
        task = Careful(task_id="a")
    assert (task.source, task.retries, task.target) == ("fixed", 9, "t")


def test_default_args_order_is_argument_operator_group_dag() -> None:
    with (
        DAG("d", default_args={"owner": "dag", "queue": "dag", "pool": "dag", "retries": 1}),
        TaskGroup("outer", default_args={"queue": "outer", "pool": "outer", "retries": 2}),
        TaskGroup("inner", default_args={"pool": "inner", "retries": 3}),
    ):
        task = EmptyOperator(task_id="a", default_args={"retries": 4})
        explicit = EmptyOperator(task_id="b", default_args={"retries": 4}, retries=5)
    assert (task.owner, task.queue, task.pool, task.retries) == ("dag", "outer", "inner", 4)
    assert explicit.retries == 5


def test_arguments_are_made_uniform() -> None:
    task = EmptyOperator(
        task_id="a",
        retry_delay=60,
        retry_exponential_backoff=True,
        execution_timeout=1.5,
        start_date=datetime(2025, 1, 1),  # noqa: DTZ001 - naive on purpose
        trigger_rule="all_done",
        weight_rule="absolute",
        on_failure_callback=print,
        wait_for_downstream=True,
        priority_weight=2**40,
    )
    assert task.retry_delay == timedelta(minutes=1)
    assert task.retry_exponential_backoff == 2.0
    assert task.execution_timeout == timedelta(seconds=1.5)
    assert task.start_date == datetime(2025, 1, 1, tzinfo=UTC)
    assert task.trigger_rule is TriggerRule.ALL_DONE
    assert task.weight_rule is WeightRule.ABSOLUTE
    assert task.on_failure_callback == (print,)
    assert task.depends_on_past
    assert task.priority_weight == 2**31 - 1


def test_shift_operators_make_edges_and_return_their_right_side() -> None:
    with DAG("d") as dag:
        a, b, c, d = (EmptyOperator(task_id=name) for name in "abcd")
        assert a >> [b, c] == [b, c]
        assert ([b, c] >> d) is d
        assert (d << a) is a
    assert edges(dag) == {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")}
    assert [task.task_id for task in a.get_flat_relatives()] == ["b", "c", "d"]
    assert a.downstream_task_ids == {"b", "c", "d"}


def test_tasks_made_outside_join_the_dag_of_their_neighbours() -> None:
    loose = EmptyOperator(task_id="loose")
    with DAG("d") as dag:
        EmptyOperator(task_id="a") >> loose
    assert dag.task_ids == ["a", "loose"]
    assert loose.dag is dag


def test_chains_join_steps_lists_pairwise_and_groups_by_their_ends() -> None:
    with DAG("d") as dag:
        a, b, c, d, e, f = (EmptyOperator(task_id=name) for name in "abcdef")
        with TaskGroup("g", prefix_group_id=False) as group:
            EmptyOperator(task_id="g1") >> EmptyOperator(task_id="g2")
        chain(a, [b, c], [d, e], group, f)
    assert edges(dag) == {
        ("a", "b"), ("a", "c"), ("b", "d"), ("c", "e"), ("d", "g1"), ("e", "g1"), ("g1", "g2"), ("g2", "f"),
    }  # fmt: skip


def test_chain_refuses_lists_of_different_lengths() -> None:
    with DAG("d"):
        a, b, c = (EmptyOperator(task_id=name) for name in "abc")
    with pytest.raises(DagError, match="a list of 2 with a list of 1"):
        chain([a, b], [c])


def test_chain_linear_and_cross_downstream_join_each_with_each() -> None:
    with DAG("d") as dag:
        a, b, c, d, e = (EmptyOperator(task_id=name) for name in "abcde")
        chain_linear([a, b], [c, d])
        cross_downstream([c, d], [e])
    assert edges(dag) == {("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "e"), ("d", "e")}


def test_labels_stand_on_the_edges_they_are_written_on() -> None:
    with DAG("d") as dag:
        a, b, c, d, e, f = (EmptyOperator(task_id=name) for name in "abcdef")
        again = Label("again")
        a >> Label("yes") >> [b, c]
        [d, e] << Label("back") << c
        a >> again >> f
        d >> again >> f
        chain(b, Label("chained"), e)
    assert dag.edge_labels == {
        ("a", "b"): "yes", ("a", "c"): "yes", ("c", "d"): "back", ("c", "e"): "back",
        ("a", "f"): "again", ("d", "f"): "again", ("b", "e"): "chained",
    }  # fmt: skip
    assert document_of(dag).edge_labels[0] == ("a", "b", "yes")


def test_groups_prefix_ids_nest_and_join_by_roots_and_leaves() -> None:
    with DAG("d") as dag:
        start, end = EmptyOperator(task_id="start"), EmptyOperator(task_id="end")
        with TaskGroup("load", tooltip="Loads") as load:
            EmptyOperator(task_id="a") >> EmptyOperator(task_id="b")
            with TaskGroup("deep", prefix_group_id=False, group_display_name="Deep!"):
                EmptyOperator(task_id="c")
        start >> load >> end
    assert edges(dag) == {
        ("start", "load.a"), ("start", "load.c"), ("load.a", "load.b"), ("load.b", "end"), ("load.c", "end"),
    }  # fmt: skip
    outer, inner = document_of(dag).groups
    assert (outer.group_id, outer.parent, outer.label, outer.tooltip) == ("load", None, "load", "Loads")
    assert (inner.group_id, inner.parent, inner.label) == ("load.deep", "load", "Deep!")
    assert {task.task_id: task.group_id for task in document_of(dag).tasks}["load.c"] == "load.deep"


def test_a_group_function_makes_a_group_for_each_call() -> None:
    @task_group
    def load(name: str) -> None:
        """Load one table."""
        EmptyOperator(task_id=name)

    @task_group(group_id="named", default_args={"retries": 7})
    def other() -> EmptyOperator:
        return EmptyOperator(task_id="x")

    with DAG("d") as dag:
        first = load("a")
        load("b")
        other()
        load.override(group_id="third")("c")
    assert isinstance(first, TaskGroup)
    assert dag.get_task("named.x").retries == 7
    assert first.tooltip == "Load one table."
    assert dag.task_ids == ["load.a", "load__1.b", "named.x", "third.c"]


def test_results_in_template_fields_make_edges_at_any_depth() -> None:
    with DAG("d") as dag:
        a = EmptyOperator(task_id="a")
        b = EmptyOperator(task_id="b")
        PythonOperator(task_id="c", python_callable=print, op_kwargs={"x": [{"y": (a.output["k"],)}]})
        late = BashOperator(task_id="d", bash_command="true")
        late.bash_command = b.output
    assert edges(dag) == {("a", "c")}
    assert {task.task_id: task.upstream for task in document_of(dag).tasks}["d"] == ("b",)


def test_a_result_stands_for_its_task_and_in_texts_for_the_template_that_pulls_it() -> None:
    with DAG("d") as dag:
        a, b = EmptyOperator(task_id="a"), EmptyOperator(task_id="b")
        a.output >> b
    assert edges(dag) == {("a", "b")}
    assert f"{a.output['k']}" == "{{ ti.xcom_pull(task_ids='a', key='k') }}"


def test_only_empty_operators_without_callbacks_need_no_worker() -> None:
    class Named(EmptyOperator):
        pass

    class Busy(EmptyOperator):
        def execute(self, context: Any) -> None:
            print(context)

    with DAG("d") as dag:
        Named(task_id="named")
        Busy(task_id="busy")
        EmptyOperator(task_id="told", on_success_callback=print)
        EmptyOperator(task_id="hooked", pre_execute=print)
        EmptyOperator(task_id="failing", on_failure_callback=print)
    empty = {task.task_id: task.is_empty for task in document_of(dag).tasks}
    assert empty == {"named": True, "busy": False, "told": False, "hooked": False, "failing": True}


def test_isolation_is_the_tasks_own_or_the_dags() -> None:
    with DAG("d", isolation="shared") as dag:
        EmptyOperator(task_id="a")
        EmptyOperator(task_id="b", isolation="process")
    assert [task.isolation for task in document_of(dag).tasks] == ["shared", "process"]


def test_a_task_knows_the_line_of_its_definition_also_through_subclasses() -> None:
    with DAG("d"):
        here = sys._getframe().f_lineno
        task = Careful(task_id="a")
    assert task.site == (__file__, here + 1)


@pytest.mark.parametrize(("value", "logged"), [(None, []), (0, ["Returned value: 0"]), ("", ["Returned value: ''"])])
def test_a_task_that_returns_nothing_logs_nothing(
    value: object, logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    PythonOperator(task_id="t", python_callable=lambda: value).execute({})
    assert [record.getMessage() for record in caplog.records] == logged
