"""What a task says and learns of assets while it runs: outlets, inlets, triggering events, partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from treadle import DAG, Asset, AssetAlias, BashOperator, Metadata, PythonOperator, asset, task
from treadle.errors import SkipTask
from treadle.runtime.dag_test_result import DagTestResult

ORDERS = Asset("orders", "s3://b/orders", group="sales")
FILES = AssetAlias("files")


def result_of(function: Callable[..., Any], outlets: Any = (), inlets: Any = (), **test: Any) -> DagTestResult:
    with DAG("d") as dag:
        PythonOperator(task_id="t", python_callable=function, outlets=outlets, inlets=inlets)
    return dag.test(**test)


def test_a_success_updates_each_outlet_once_with_what_was_said_of_it() -> None:
    def load(outlet_events: Any) -> None:
        outlet_events[ORDERS].extra = {"rows": 3}
        outlet_events[ORDERS].extra["bad"] = 0

    found = result_of(load, outlets=[ORDERS, Asset("plain")])
    found.raise_if_failed()
    assert [(one.asset, one.extra) for one in found.asset_events] == [
        (ORDERS, {"rows": 3, "bad": 0}),
        (Asset("plain"), {}),
    ]
    assert (found.asset_events[0].source_dag_id, found.asset_events[0].source_task_id) == ("d", "t")


def test_a_bash_task_updates_its_outlets_too() -> None:
    with DAG("d") as dag:
        BashOperator(task_id="t", bash_command="true", outlets=[ORDERS])
    assert [one.asset for one in dag.test().asset_events] == [ORDERS]


def test_a_failed_or_skipped_task_has_updated_nothing() -> None:
    def fail(outlet_events: Any) -> None:
        outlet_events[ORDERS].extra = {"rows": 3}
        raise SkipTask("nothing to do")

    assert result_of(fail, outlets=[ORDERS]).asset_events == []
    assert result_of(lambda: 1 / 0, outlets=[ORDERS]).asset_events == []


def test_a_retry_says_it_anew() -> None:
    seen: list[int] = []

    def load(outlet_events: Any) -> None:
        seen.append(1)
        outlet_events[ORDERS].extra[f"try {len(seen)}"] = True
        if len(seen) == 1:
            raise RuntimeError("first")

    with DAG("d") as dag:
        PythonOperator(task_id="t", python_callable=load, outlets=[ORDERS], retries=1)
    assert [one.extra for one in dag.test().asset_events] == [{"try 2": True}]


def test_an_alias_stands_for_the_assets_that_are_added() -> None:
    def load(outlet_events: Any) -> None:
        outlet_events[FILES].add(ORDERS, {"n": 1})
        outlet_events[FILES].add(ORDERS, {"n": 1})
        outlet_events[FILES].add(Asset("other"))

    found = result_of(load, outlets=[FILES])
    found.raise_if_failed()
    assert [(one.asset.name, one.extra, one.aliases) for one in found.asset_events] == [
        ("orders", {"n": 1}, ("files",)),
        ("other", {}, ("files",)),
    ]


def test_an_alias_that_nothing_was_added_to_updates_nothing() -> None:
    assert result_of(lambda: None, outlets=[FILES]).asset_events == []


def test_a_task_that_yields_metadata_returns_what_it_returns() -> None:
    def load() -> Any:
        yield Metadata(ORDERS, {"rows": 3})
        yield Metadata(Asset("new"), {"rows": 4}, alias=FILES)
        return 7

    found = result_of(load, outlets=[ORDERS, FILES])
    found.raise_if_failed()
    assert [(one.asset.name, one.extra) for one in found.asset_events] == [
        ("orders", {"rows": 3}),
        ("new", {"rows": 4}),
    ]
    assert found.xcoms == {"t": 7}


def test_a_task_that_yields_something_else_fails_and_says_what() -> None:
    def load() -> Any:
        yield 7

    found = result_of(load, outlets=[ORDERS])
    assert "may yield Metadata(asset, extra) only, not 7" in found.task("t").message


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda events: events[Asset("other")], "the task has no outlet Asset('other')"),
        (lambda events: events[ORDERS].add(ORDERS), "is no alias"),
        (lambda events: events[FILES].add(FILES), "an alias stands for assets"),
        (lambda events: events[ORDERS].add_partitions([""]), "a partition key is a text"),
        (lambda events: events[ORDERS].extra.update(at=object()), "has no JSON form"),
        (lambda events: events[ORDERS].extra.update(text="\0"), "NUL character"),
    ],
)
def test_what_cannot_be_said_fails_the_task_and_says_why(bad: Callable[[Any], Any], words: str) -> None:
    def load(outlet_events: Any) -> None:
        bad(outlet_events)

    found = result_of(load, outlets=[ORDERS, FILES])
    assert words in found.task("t").message
    assert found.asset_events == []


def test_partitions_are_events_of_their_own_and_the_runs_partition_is_the_default() -> None:
    def load(outlet_events: Any, partition_key: Any) -> Any:
        outlet_events[ORDERS].add_partitions(["eu", "us", "eu"])
        return partition_key

    found = result_of(load, outlets=[ORDERS, Asset("plain")], partition_key="2024-02-29")
    assert [(one.asset.name, one.partition_key) for one in found.asset_events] == [
        ("orders", "eu"),
        ("orders", "us"),
        ("plain", "2024-02-29"),
    ]
    assert found.xcoms == {"t": "2024-02-29"}


def test_inlet_events_are_read_newest_last_and_filtered() -> None:
    with DAG("d") as dag:

        @task(outlets=[ORDERS])
        def load(number: int, outlet_events: Any = None) -> None:
            outlet_events[ORDERS].extra = {"number": number}

        @task(inlets=[ORDERS])
        def read(inlet_events: Any = None) -> list[Any]:
            events = inlet_events[ORDERS]
            return [
                events[-1].extra["number"],
                events[0].extra["number"],
                [one.extra["number"] for one in events.ascending(False).limit(2)],
                len(events.after("2000-01-01T00:00:00+00:00").before("2001-01-01T00:00:00+00:00")),
                len(events),
            ]

        [load.override(task_id=f"load{number}")(number) for number in range(3)] >> read()
    found = dag.test()
    found.raise_if_failed()
    assert found.xcoms["read"] == [2, 0, [2, 1], 0, 3]


def test_an_inlet_without_events_and_one_that_is_none() -> None:
    def read(inlet_events: Any) -> Any:
        with pytest.raises(IndexError, match="there is no event -1, there are 0"):
            inlet_events[ORDERS][-1]
        return list(inlet_events[ORDERS])

    assert result_of(read, inlets=[ORDERS]).xcoms == {"t": []}
    assert "has no inlet" in result_of(lambda inlet_events: inlet_events[FILES], inlets=[ORDERS]).task("t").message


def test_triggering_events_are_told_by_asset_and_alias_and_in_templates() -> None:
    with DAG("d", schedule=[ORDERS]) as dag:

        @task
        def read(triggering_asset_events: Any = None, logical_date: Any = None) -> Any:
            by_asset = {asset.name: [one.extra for one in events] for asset, events in triggering_asset_events.items()}
            return [by_asset, len(triggering_asset_events[FILES]), logical_date]

        read()
        BashOperator(
            task_id="show", bash_command="echo {{ (triggering_asset_events.values() | first | first).extra.n }}"
        )
    found = dag.test(triggering_asset_events=[Metadata(ORDERS, {"n": 5}), Metadata(Asset("x"), {}, alias=FILES)])
    found.raise_if_failed()
    assert found.xcoms == {"read": [{"orders": [{"n": 5}], "x": [{}]}, 1, None], "show": "5"}


def test_an_extra_is_data_whatever_it_looks_like() -> None:
    """Case F24: neither a template nor a class marker in an extra is ever looked into."""
    looks = {"template": "{{ 1 + 1 }}; id", "__class__": "os.system", "__type": "datetime", "__data__": "x"}
    with DAG("d", schedule=[ORDERS]) as dag:

        @task(inlets=[ORDERS])
        def read(triggering_asset_events: Any = None, inlet_events: Any = None) -> Any:
            return [triggering_asset_events[ORDERS][0].extra, inlet_events[ORDERS][-1].extra]

        read()
        BashOperator(
            task_id="show",
            bash_command='echo "$VALUE"',
            env={"VALUE": "{{ triggering_asset_events.values() | first | first | attr('extra') | tojson }}"},
        )
    found = dag.test(triggering_asset_events=[Metadata(ORDERS, looks)])
    found.raise_if_failed()
    assert found.xcoms["read"] == [looks, looks]
    assert "{{ 1 + 1 }}; id" in found.xcoms["show"]


def test_an_asset_function_gets_itself_its_inlets_and_its_context() -> None:
    @asset(schedule=[ORDERS], uri="s3://b/sales")
    def sales(self: Any, context: Any, orders: Any, outlet_events: Any) -> Any:
        outlet_events[self].extra = {"from": orders.uri}
        return [self.uri, context["run_id"].partition("__")[0]]

    found = sales.dag.test(triggering_asset_events=[ORDERS])
    found.raise_if_failed()
    assert found.xcoms == {"sales": ["s3://b/sales", "manual"]}
    assert [(one.asset.name, one.extra) for one in found.asset_events] == [("sales", {"from": "s3://b/orders"})]
