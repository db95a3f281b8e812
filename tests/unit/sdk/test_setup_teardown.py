"""Setups and teardowns: how they are written, what their scopes are, what of them goes into the document."""

from __future__ import annotations

from typing import Any

import pytest

from treadle import DAG, DagError, EmptyOperator, TaskGroup, setup, task, task_group, teardown
from treadle.document import DagDocument, TaskDocument, dumps, loads
from treadle.operators.base import BaseOperator
from treadle.serialization import document_of, problems, validate


def empty(name: str, **arguments: Any) -> EmptyOperator:
    return EmptyOperator(task_id=name, **arguments)


def edges(dag: DAG) -> set[str]:
    return {f"{up}>{one.task_id}" for one in dag.tasks for up in one.upstream_task_ids}


def tasks_of(document: DagDocument) -> dict[str, TaskDocument]:
    return {one.task_id: one for one in document.tasks}


def test_documents_tell_setups_teardowns_and_which_belong_together() -> None:
    with DAG("d") as dag:

        @setup
        def create() -> str:
            return "cluster"

        @task
        def work(cluster: str) -> None: ...

        @teardown(on_failure_fail_dagrun=True)
        def destroy(cluster: str) -> None: ...

        cluster = create()
        work(cluster) >> destroy(cluster)
    validate(dag)
    document = document_of(dag)
    assert loads(dumps(document)) == document
    found = tasks_of(document)
    assert (found["create"].is_setup, found["create"].is_teardown, found["create"].setups) == (True, False, ())
    assert (found["work"].is_setup, found["work"].trigger_rule) == (False, "all_success")
    destroyed = found["destroy"]
    assert (destroyed.is_teardown, destroyed.setups, destroyed.on_failure_fail_dagrun) == (True, ("create",), True)
    assert destroyed.trigger_rule == "all_done_setup_success"


def test_operators_results_and_mapped_tasks_are_marked_by_methods() -> None:
    with DAG("d", default_args={"trigger_rule": "none_failed"}) as dag:

        @task
        def make(x: int = 0) -> int:
            return x

        one, many = make().as_setup(), make.override(task_id="many").expand(x=[1, 2])
        down = empty("down").as_teardown(setups=[one, many])
        assert down.on_failure_fail_dagrun is False
    assert edges(dag) == {"make>down", "many>down"}
    assert tasks_of(document_of(dag))["down"].setups == ("make", "many")
    assert dag.task_dict["down"].trigger_rule == "all_done_setup_success"


def test_the_marks_stay_when_a_function_is_overridden_or_mapped() -> None:
    with DAG("d"):

        @teardown
        @task(retries=2)
        def clean(x: int = 0) -> None: ...

        first = clean.override(task_id="first")(1)
        many = clean.partial().expand(x=[1])
    assert [one.operator.is_teardown for one in (first, many)] == [True, True]
    assert [one.operator.retries for one in (first, many)] == [2, 2]


def test_a_task_is_setup_or_teardown_not_both_and_groups_are_neither() -> None:
    with DAG("d"):
        with pytest.raises(DagError, match=r"task 'a' .* cannot be both setup and teardown"):
            empty("a").as_setup().as_teardown()
        with pytest.raises(DagError, match="cannot be both"):
            empty("b").as_teardown().as_setup()

        @task_group
        def group() -> None: ...

        with pytest.raises(DagError, match="@setup cannot mark the task group 'group'"):
            setup(group)
        with pytest.raises(DagError, match="@task stands above @task function 'late'"):

            @task
            @setup
            def late() -> None: ...


def test_a_with_block_stands_between_the_setup_and_its_teardown() -> None:
    with DAG("d") as dag:
        outside = empty("outside")
        with empty("s").as_setup() as scope:
            empty("a") >> empty("b")
            empty("c")
            scope.add_task(outside)
            empty("t").as_teardown(setups=dag.task_dict["s"])
    assert edges(dag) == {"a>b", "b>t", "c>t", "s>a", "s>c", "s>t", "outside>t", "s>outside"}


def test_blocks_within_blocks_and_blocks_of_teardowns() -> None:
    with DAG("d") as dag:
        outer, inner = empty("outer").as_setup(), empty("inner").as_setup()
        with empty("outer_down").as_teardown(setups=outer):
            with empty("inner_down").as_teardown(setups=inner):
                empty("work")
            empty("beside")
    assert edges(dag) == {
        "outer>outer_down",
        "inner>inner_down",
        "inner>work",
        "work>inner_down",
        "outer>inner",
        "inner_down>outer_down",
        "outer>beside",
        "beside>outer_down",
    }


def test_with_wants_a_setup_or_a_teardown_and_a_failed_block_makes_no_edges() -> None:
    with DAG("d") as dag:
        with pytest.raises(DagError, match=r"task 'plain' .* is neither setup nor teardown"), empty("plain"):
            pass
        scope = empty("s").as_setup()
        scope.__enter__()
        empty("work")
        scope.__exit__(ZeroDivisionError, None, None)
        empty("after")
    assert edges(dag) == set()


def test_what_follows_a_group_waits_for_its_work_not_for_its_teardowns() -> None:
    with DAG("d") as dag:
        with TaskGroup("g", prefix_group_id=False) as group:
            s, a, b, c, t = (empty(one) for one in "sabct")
            s >> a >> b >> t.as_teardown(setups=s)
            s >> c >> t
            a >> t
        group >> empty("after")
    assert {one for one in edges(dag) if one.endswith(">after")} == {"b>after", "c>after"}


def test_a_group_of_a_setup_and_its_teardown_alone_has_no_leaves() -> None:
    with DAG("d"):
        with TaskGroup("g") as group:
            empty("t").as_teardown(setups=empty("s"))
        assert list(group.leaves) == []


def test_what_stands_right_after_a_setup_must_wait_for_its_success() -> None:
    with DAG("d", fail_fast=True) as dag:
        s = empty("s").as_setup()
        s >> empty("t").as_teardown(setups=s)
        fine: BaseOperator = empty("fine")
        s >> fine
    assert problems(dag) == []
    fine.trigger_rule = "all_done"  # type: ignore[assignment]
    dag.fail_fast = False
    (problem,) = problems(dag)
    assert "task 'fine' (EmptyOperator): trigger_rule='all_done' cannot be used" in str(problem)
    assert "expected all_success right after the setup 's'" in str(problem)
