"""What differs between two versions of a DAG, against documents whose difference is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from treadle.differences import Change, TaskChange, differences
from treadle.digest import digest
from treadle.document import (
    DagDocument,
    ExpandArgument,
    ExpandDocument,
    GroupDocument,
    ParamDocument,
    ScheduleDocument,
    TaskDocument,
)

OLD = DagDocument(
    "sales",
    schedule=ScheduleDocument(kind="cron", expressions=("0 6 * * *",), summary="0 6 * * *"),
    params=(ParamDocument("country", "DE"),),
    tasks=(TaskDocument("extract"), TaskDocument("load", upstream=("extract",)), TaskDocument("mail")),
)


def test_a_version_does_not_differ_from_itself_nor_from_itself_on_other_lines() -> None:
    moved = replace(OLD, line=9, tasks=tuple(replace(task, line=7) for task in OLD.tasks))
    assert not differences(OLD, OLD)
    assert not differences(OLD, moved)


def test_tasks_and_edges_that_came_and_went_are_named() -> None:
    tasks = (
        TaskDocument("extract"),
        TaskDocument("check", upstream=("extract",)),
        TaskDocument("load", upstream=("check",)),
    )
    found = differences(OLD, replace(OLD, tasks=tasks))
    assert (found.tasks_added, found.tasks_removed) == (("check",), ("mail",))
    assert found.edges_added == (("check", "load"), ("extract", "check"))
    assert found.edges_removed == (("extract", "load"),)
    assert found.tasks_changed == ()


def test_changed_arguments_are_told_with_both_values() -> None:
    mapped = ExpandDocument("product", (ExpandArgument("x", task_id="extract"),))
    tasks = (replace(OLD.tasks[0], retries=2, pool="db"), replace(OLD.tasks[1], expand=mapped), OLD.tasks[2])
    found = differences(OLD, replace(OLD, tasks=tasks))
    as_json = {"kind": "product", "arguments": [{"name": "x", "task_id": "extract"}]}
    assert found.tasks_changed == (
        TaskChange("extract", (Change("pool", "default_pool", "db"), Change("retries", 0, 2))),
        TaskChange("load", (Change("expand", None, as_json),)),
    )


def test_the_schedule_and_the_dags_arguments_are_told_apart() -> None:
    new = replace(
        OLD,
        schedule=replace(OLD.schedule, expressions=("0 7 * * *",)),
        catchup=True,
        params=(ParamDocument("country", "FR"),),
        groups=(GroupDocument("stage"),),
    )
    found = differences(OLD, new)
    assert found.schedule == (Change("expressions", ["0 6 * * *"], ["0 7 * * *"]),)
    assert found.dag == (
        Change("catchup", False, True),
        Change("params.country", {"name": "country", "value": "DE"}, {"name": "country", "value": "FR"}),
        Change("groups.stage", None, {"group_id": "stage"}),
    )


@st.composite
def documents(draw: st.DrawFn) -> DagDocument:
    size = draw(st.integers(0, 4))
    tasks: list[TaskDocument] = []
    for name in draw(st.permutations("abcde"))[:size]:
        upstream = sorted(draw(st.sets(st.sampled_from([task.task_id for task in tasks])))) if tasks else []
        changes: dict[str, Any] = {"retries": draw(st.integers(0, 1)), "line": draw(st.integers(1, 3))}
        tasks.append(TaskDocument(name, upstream=tuple(upstream), **changes))
    schedule = ScheduleDocument(kind=draw(st.sampled_from(["none", "once"])))
    return DagDocument("d", schedule=schedule, catchup=draw(st.booleans()), tasks=tuple(tasks))


@given(documents(), documents())
def test_versions_differ_exactly_where_their_digests_do_but_for_the_order_of_tasks(
    old: DagDocument, new: DagDocument
) -> None:
    def in_order(document: DagDocument) -> DagDocument:
        return replace(document, tasks=tuple(sorted(document.tasks, key=lambda task: task.task_id)))

    assert bool(differences(old, new)) == (digest(in_order(old)) != digest(in_order(new)))


@given(documents(), documents())
def test_the_way_back_is_the_way_there_turned_round(old: DagDocument, new: DagDocument) -> None:
    there, back = differences(old, new), differences(new, old)
    assert set(there.tasks_added) == set(back.tasks_removed)
    assert there.edges_added == back.edges_removed
    turned = {(one.field, one.new, one.old) for one in back.dag + back.schedule if not isinstance(one.new, list)}
    assert {(one.field, one.old, one.new) for one in there.dag + there.schedule} == turned
