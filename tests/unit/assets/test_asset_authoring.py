"""Assets in DAG files: names and addresses, expressions, documents, ``@asset``, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle import (
    DAG,
    Asset,
    AssetAlias,
    AssetAll,
    AssetAny,
    AssetOrTimeSchedule,
    BashOperator,
    CronTriggerTimetable,
    Dataset,
    EmptyOperator,
    asset,
    document,
    task,
)
from treadle.asset_conditions import awaited, expression, is_met, parts_of, words
from treadle.document import AssetCondition, DagDocument
from treadle.errors import DagError
from treadle.serialization import document_of
from treadle.timetables.factory import from_document

A, B, C = Asset("a"), Asset("b"), Asset("c")


def schedule_of(schedule: Any) -> document.ScheduleDocument:
    with DAG("d", schedule=schedule) as dag:
        EmptyOperator(task_id="t")
    made = document_of(dag)
    assert document.loads(document.dumps(made)) == made
    return made.schedule


def test_of_a_name_and_an_address_one_stands_for_both() -> None:
    assert (Asset("a").name, Asset("a").uri) == ("a", "a")
    assert (Asset(uri="s3://b/a").name, Asset(uri="s3://b/a").uri) == ("s3://b/a", "s3://b/a")
    assert (Asset("a", "s3://b/a").name, Asset("a", "s3://b/a").uri) == ("a", "s3://b/a")
    assert Dataset is Asset


def test_an_address_holds_no_secret_and_no_fragment() -> None:
    assert Asset(uri="Postgres://ann:secret@host:5432/db/t?a=1#top").uri == "postgres://host:5432/db/t?a=1"
    assert Asset("a", uri="/data/x.csv").uri == "/data/x.csv"


@pytest.mark.parametrize(
    "make",
    [
        Asset,
        lambda: Asset(""),
        lambda: Asset("a\0b"),
        lambda: Asset("x" * 1501),
        lambda: Asset(uri="treadle://x"),
        lambda: Asset(7),  # type: ignore[arg-type]
        lambda: Asset("a", extra={"at": timedelta(1)}),
        lambda: Asset("a", extra={"text": "\0"}),
        lambda: Asset("a", extra=[1]),  # type: ignore[arg-type]
        Asset.ref,
        lambda: Asset.ref(name="a", uri="b"),
        AssetAll,
        lambda: AssetAny(A, "b"),  # type: ignore[arg-type]
        lambda: schedule_of([A, "b"]),
        lambda: schedule_of([]),
        lambda: BashOperator(task_id="t", bash_command="true", outlets=["s3://a"]),
        lambda: BashOperator(task_id="t", bash_command="true", inlets=[A & B]),
        lambda: AssetOrTimeSchedule(timetable="@daily", assets=A),
        lambda: asset(schedule=None, owner="ann"),
        lambda: asset.multi(schedule=None, outlets=[A], uri="x"),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(make: Callable[[], Any]) -> None:
    with pytest.raises(DagError, match=r"test_asset_authoring\.py, line \d+"):
        make()


def test_a_list_means_all_and_expressions_nest() -> None:
    assert words(schedule_of([A, B]).condition) == "a & b"  # type: ignore[arg-type]
    assert words(schedule_of(A).condition) == "a"  # type: ignore[arg-type]
    mixed = (A & B & C) | AssetAlias("x") | Asset.ref(uri="s3://b")
    found = schedule_of(mixed)
    assert found.kind == "assets"
    assert found.summary == "(a & b & c) | alias x | s3://b"
    assert schedule_of(A | A).condition == AssetCondition("asset", "a")
    assert expression(schedule_of(mixed).condition) == {  # type: ignore[arg-type]
        "any": [
            {"all": [{"asset": {"name": "a"}}, {"asset": {"name": "b"}}, {"asset": {"name": "c"}}]},
            {"alias": {"name": "x"}},
            {"asset_ref": {"uri": "s3://b"}},
        ]
    }


def test_a_set_of_assets_gives_one_document_whatever_its_order() -> None:
    found = {document.dumps(_document({A, B, C, Asset(name)})) for name in "defgh" for _ in range(3)}
    assert len(found) == 5


def _document(schedule: Any) -> DagDocument:
    with DAG("d", schedule=schedule) as dag:
        EmptyOperator(task_id="t")
    return document_of(dag)


def test_a_document_defines_its_assets_once_and_no_mere_references() -> None:
    with DAG("d", schedule=[Asset("orders", "s3://b/o", group="sales"), Asset.ref(name="other")]) as dag:

        @task(outlets=[AssetAlias("files"), Asset("orders", "s3://b/o", group="sales")], inlets=[Asset.ref(uri="u")])
        def load() -> None: ...

        load()
    made = document_of(dag)
    assert [one.name for one in made.assets] == ["orders"]
    assert [one.name for one in made.asset_aliases] == ["files"]
    assert made.tasks[0].outlets == (("alias", "files"), ("asset", "orders"))
    assert made.tasks[0].inlets == (("uri", "u"),)


def test_an_empty_task_with_an_outlet_needs_a_worker() -> None:
    with DAG("d") as dag:
        EmptyOperator(task_id="plain")
        EmptyOperator(task_id="updating", outlets=[A])
        EmptyOperator(task_id="reading", inlets=[A])
    assert {one.task_id: one.is_empty for one in document_of(dag).tasks} == {
        "plain": True,
        "updating": False,
        "reading": False,
    }


def test_default_args_give_outlets_and_mapped_tasks_keep_theirs() -> None:
    with DAG("d", default_args={"outlets": A}) as dag:
        BashOperator.partial(task_id="mapped").expand(bash_command=["true", "false"])
    assert document_of(dag).tasks[0].outlets == (("asset", "a"),)


def test_assets_or_time_keep_the_timetable_and_say_both() -> None:
    timetable = CronTriggerTimetable("0 6 * * *", timezone="UTC")
    found = schedule_of(AssetOrTimeSchedule(timetable=timetable, assets=A & B))
    assert (found.kind, found.expressions) == ("cron", ("0 6 * * *",))
    assert found.summary.endswith("or a & b")
    assert from_document(found).can_be_scheduled


def test_an_asset_function_is_an_asset_with_a_dag_that_makes_it() -> None:
    @asset(schedule=A, uri="s3://b/sales", group="sales", tags=["daily"])
    def sales(context: Any, orders: Any, self: Any, rate: float = 1.5) -> None:
        """All sales."""

    assert (sales.name, sales.uri) == ("sales", "s3://b/sales")
    made = document_of(sales.dag)
    assert (made.dag_id, made.doc_md, made.tags) == ("sales", "All sales.", ("daily",))
    (only,) = made.tasks
    assert (only.task_id, only.outlets, only.inlets) == ("sales", (("asset", "sales"),), (("asset", "orders"),))
    assert [one.name for one in made.assets] == ["a", "sales"]
    with DAG("consumer", schedule=sales) as consumer:
        EmptyOperator(task_id="t")
    assert document_of(consumer).schedule.condition == AssetCondition("asset", "sales")


def test_several_assets_can_be_made_by_one_function() -> None:
    @asset.multi(schedule="@daily", outlets=[A, B])
    def both() -> None: ...

    assert document_of(both.dag).tasks[0].outlets == (("asset", "a"), ("asset", "b"))
    assert words(both.condition()) == "a & b"


conditions = st.recursive(
    st.sampled_from("abcd").map(lambda name: AssetCondition("asset", name)),
    lambda inner: st.builds(
        lambda kind, parts: AssetCondition(kind, inner=tuple(parts)),
        st.sampled_from(["all", "any"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


def _oracle(condition: AssetCondition, updated: set[str]) -> bool:
    """Evaluate the words of a condition as Python does."""
    text = words(condition).replace("&", "and").replace("|", "or")
    return bool(eval(text, {}, {name: name in updated for name in "abcd"}))


@given(conditions, st.sets(st.sampled_from("abcd")))
def test_a_condition_means_what_its_words_say(condition: AssetCondition, updated: set[str]) -> None:
    keys = {("asset", name) for name in updated}
    assert is_met(condition, keys) == _oracle(condition, updated)


@given(conditions, st.sets(st.sampled_from("abcd")))
def test_what_is_awaited_is_just_what_is_lacking(condition: AssetCondition, updated: set[str]) -> None:
    keys = {("asset", name) for name in updated}
    left = awaited(condition, keys)
    if is_met(condition, keys):
        assert left is None
        return
    assert left is not None
    lacking = set(parts_of(left))
    assert not lacking & keys
    for number in range(len(lacking) + 1):
        for more in itertools.combinations(sorted(lacking), number):
            assert is_met(left, set(more)) == is_met(condition, keys | set(more))
