"""``treadle assets``: list, show, events, emit and materialize, from the command to the database and back."""

from __future__ import annotations

import pytest
from tests.integration.cli.conftest import Running
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import AssetCondition, AssetDocument, ScheduleDocument, TaskDocument


@pytest.fixture
def orders(scheduler: TestScheduler) -> TestScheduler:
    """A DAG that makes the asset orders, and one that waits for it."""
    asset = AssetDocument("orders", "s3://bucket/orders")
    scheduler.install(a_dag("producer", TaskDocument("load", outlets=(("asset", "orders"),)), assets=(asset,)))
    schedule = ScheduleDocument(kind="assets", condition=AssetCondition("asset", "orders"))
    scheduler.install(a_dag("consumer", TaskDocument("work"), schedule=schedule))
    return scheduler


def test_assets_are_listed_and_shown_with_who_makes_and_waits_for_them(
    line: CommandLine, orders: TestScheduler
) -> None:
    (listed,) = line.json("assets", "list")
    assert (listed["name"], listed["made_by"], listed["waited_for_by"]) == ("orders", "producer.load", "consumer")
    assert line.json("assets", "show", "orders") == line.json("assets", "show", "s3://bucket/orders")
    assert "did you mean 'orders'?" in line.fails("assets", "show", "order")


def test_an_update_told_by_hand_makes_the_consumers_run(line: CommandLine, orders: TestScheduler) -> None:
    event = int(line.ok("assets", "emit", "orders", "--extra", '{"rows": 3}', "--partition-key", "eu"))
    orders.beats()
    (shown,) = line.json("assets", "events", "orders")
    assert (shown["id"], shown["extra"], shown["partition_key"], shown["made"]) == (
        event,
        {"rows": 3},
        "eu",
        "consumer",
    )
    assert "not found" in line.fails("assets", "emit", "nothing")
    assert "JSON object" in line.fails("assets", "emit", "orders", "--extra", "[1]", code=2)


def test_an_asset_is_made_by_a_run_of_its_dag(line: CommandLine, orders: TestScheduler, running: Running) -> None:
    with running():
        run_id = line.ok("assets", "materialize", "orders", "--wait", "--timeout", "30").strip()
    assert orders.run_states("producer") == {run_id: "success"}
    assert run_id.startswith("asset_materialization__")
