"""Assets over REST: lists, events from outside, what waits for consumers, and runs that make an asset afresh."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.web import Client

from treadle.document import AssetCondition, AssetDocument, ScheduleDocument, TaskDocument
from treadle_metadata.assets.emitting import NewEvent, emit
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows

ASSETS = "/api/v2/assets"


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """A producer of the asset orders, a reader of it, and a consumer of orders and customers."""
    scheduler = TestScheduler(database, settings, clock)
    orders = AssetDocument("orders", "s3://bucket/orders", "sales", {"owner": "ann", "api_key": "abc"})
    producing = TaskDocument("load", outlets=(("asset", "orders"),))
    scheduler.install(a_dag("producer", producing, assets=(orders,)))
    reading = TaskDocument("read", inlets=(("asset", "orders"),))
    scheduler.install(a_dag("reader", reading, asset_aliases=(AssetDocument("files"),)))
    both = AssetCondition("all", inner=(AssetCondition("asset", "orders"), AssetCondition("asset", "customers")))
    customers = (orders, AssetDocument("customers", "customers"))
    schedule = ScheduleDocument(kind="assets", condition=both)
    scheduler.install(a_dag("consumer", TaskDocument("work"), schedule=schedule, assets=customers))
    return scheduler


def id_of(admin: Client, name: str) -> int:
    (found,) = admin.get(f"{ASSETS}?name_pattern={name}").json()["assets"]
    return int(found["id"])


def tell(admin: Client, name: str, **body: Any) -> dict[str, Any]:
    answer = admin.post(f"{ASSETS}/events", json={"asset_id": id_of(admin, name), **body})
    assert answer.status_code == 200, answer.text
    shape: dict[str, Any] = answer.json()
    return shape


def test_an_asset_is_shown_with_who_makes_reads_and_waits_for_it(admin: Client, scheduler: TestScheduler) -> None:
    page = admin.get(ASSETS).json()
    assert [one["name"] for one in page["assets"]] == ["customers", "orders"]
    assert page["total_entries"] == 2
    shown = admin.get(f"{ASSETS}/{id_of(admin, 'orders')}").json()
    assert (shown["uri"], shown["group"]) == ("s3://bucket/orders", "sales")
    assert shown["extra"] == {"owner": "ann", "api_key": "***"}
    assert [one["dag_id"] for one in shown["scheduled_dags"]] == ["consumer"]
    assert [(one["dag_id"], one["task_id"]) for one in shown["producing_tasks"]] == [("producer", "load")]
    assert [(one["dag_id"], one["task_id"]) for one in shown["consuming_tasks"]] == [("reader", "read")]
    assert shown["last_asset_event"] == {"id": None, "timestamp": None}


def test_assets_are_found_by_parts_of_their_names_and_by_dags(admin: Client, scheduler: TestScheduler) -> None:
    def names(query: str) -> list[str]:
        return [one["name"] for one in admin.get(f"{ASSETS}?{query}").json()["assets"]]

    assert names("uri_pattern=bucket") == ["orders"]
    assert names("dag_ids=producer") == ["orders"]
    assert names("order_by=-name") == ["orders", "customers"]
    scheduler.set_dag("consumer", is_active=False)
    assert names("") == ["orders"]
    assert names("only_active=false") == ["customers", "orders"]


def test_an_event_from_outside_makes_a_run_that_names_it(admin: Client, scheduler: TestScheduler) -> None:
    first = tell(admin, "orders", extra={"rows": 3})
    assert first["extra"] == {"rows": 3, "from_rest_api": True}
    assert first["created_dagruns"] == []
    waiting = admin.get("/api/v2/dags/consumer/assets/queuedEvents").json()
    assert [(one["dag_id"], one["asset_id"]) for one in waiting["queued_events"]] == [("consumer", first["asset_id"])]
    second = tell(admin, "customers", partition_key="eu")
    scheduler.beats()
    (run_id,) = scheduler.run_states("consumer")
    upstream = admin.get(f"/api/v2/dags/consumer/dagRuns/{run_id}/upstreamAssetEvents").json()
    assert [one["id"] for one in upstream["asset_events"]] == [second["id"], first["id"]]
    events = admin.get(f"{ASSETS}/events?asset_id={first['asset_id']}").json()["asset_events"]
    assert [run["run_id"] for run in events[0]["created_dagruns"]] == [run_id]
    shown = admin.get(f"/api/v2/dags/consumer/dagRuns/{run_id}").json()
    assert (shown["run_type"], shown["triggered_by"], shown["logical_date"]) == ("asset_triggered", "asset", None)
    assert admin.get("/api/v2/dags/consumer/assets/queuedEvents").json()["total_entries"] == 0


def test_events_are_found_by_their_source_and_time(
    admin: Client, scheduler: TestScheduler, clock: ManualClock, database: Database
) -> None:
    with database.begin() as connection:
        emit(connection, [NewEvent("orders", dag_id="producer", run_id="r1", task_id="load")], now=clock.now())
    clock.advance(timedelta(hours=1))
    newest = tell(admin, "orders")
    found = admin.get(f"{ASSETS}/events?source_dag_id=producer&source_run_id=r1").json()["asset_events"]
    assert [(one["source_dag_id"], one["source_task_id"]) for one in found] == [("producer", "load")]
    later = admin.get(f"{ASSETS}/events", params={"timestamp_gte": clock.now().isoformat()}).json()
    assert [one["id"] for one in later["asset_events"]] == [newest["id"]]


@pytest.mark.parametrize(
    "path", ["/api/v2/dags/consumer/assets/queuedEvents", "/api/v2/assets/{id}/queuedEvents",
             "/api/v2/dags/consumer/assets/{id}/queuedEvents"],
)  # fmt: skip
def test_waiting_events_can_be_forgotten(admin: Client, scheduler: TestScheduler, path: str) -> None:
    event = tell(admin, "orders")
    where = path.format(id=event["asset_id"])
    assert admin.get(where).status_code == 200
    assert admin.delete(where).status_code == 204
    tell(admin, "customers")
    scheduler.beats()
    assert scheduler.run_states("consumer") == {}
    actions = [one["event"] for one in admin.get("/api/v2/eventLogs").json()["event_logs"]]
    assert "delete_queued_asset_events" in actions


def test_an_asset_is_made_afresh_by_the_one_dag_that_makes_it(admin: Client, scheduler: TestScheduler) -> None:
    made = admin.post(f"{ASSETS}/{id_of(admin, 'orders')}/materialize", json={"partition_key": "eu"})
    assert made.status_code == 200, made.text
    shown = made.json()
    assert shown["dag_id"] == "producer"
    assert shown["run_type"] == "asset_materialization"
    assert shown["dag_run_id"].startswith("asset_materialization__")
    assert shown["partition_key"] == "eu"
    for query, number in [
        ("partition_key_pattern=eu", 1),
        ("partition_key_prefix_pattern=e", 1),
        ("partition_key_pattern=us", 0),
    ]:
        assert len(admin.get(f"/api/v2/dags/producer/dagRuns?{query}").json()["dag_runs"]) == number
    refused = admin.post(f"{ASSETS}/{id_of(admin, 'customers')}/materialize")
    assert refused.status_code == 404
    scheduler.install(a_dag("another", TaskDocument("load", outlets=(("asset", "orders"),))))
    several = admin.post(f"{ASSETS}/{id_of(admin, 'orders')}/materialize")
    assert several.status_code == 409
    assert "another, producer" in several.json()["detail"]


def test_dags_are_found_by_their_assets_and_tell_their_condition(admin: Client, scheduler: TestScheduler) -> None:
    def ids(query: str) -> list[str]:
        return [one["dag_id"] for one in admin.get(f"/api/v2/dags?{query}").json()["dags"]]

    assert ids("has_asset_schedule=true") == ["consumer"]
    assert ids("has_asset_schedule=false") == ["producer", "reader"]
    assert ids("asset_dependency=order") == ["consumer", "producer", "reader"]
    assert ids("asset_dependency=customers") == ["consumer"]
    details = admin.get("/api/v2/dags/consumer/details").json()
    assert details["asset_expression"] == {"all": [{"asset": {"name": "orders"}}, {"asset": {"name": "customers"}}]}
    assert details["timetable_partitioned"] is False
    assert admin.get("/api/v2/dags/producer/details").json()["asset_expression"] is None


def test_aliases_are_listed(admin: Client, scheduler: TestScheduler) -> None:
    (alias,) = admin.get(f"{ASSETS}/aliases").json()["asset_aliases"]
    assert (alias["name"], alias["group"]) == ("files", "asset")
    assert admin.get(f"{ASSETS}/aliases/{alias['id']}").json() == alias


@pytest.mark.parametrize(
    "method_path",
    [
        "GET /assets/999",
        "GET /assets/aliases/999",
        "GET /dags/nothing/assets/queuedEvents",
        "GET /assets/999/queuedEvents",
        "GET /dags/consumer/assets/999/queuedEvents",
        "POST /assets/999/materialize",
    ],
)
def test_what_is_not_there_is_404(admin: Client, scheduler: TestScheduler, method_path: str) -> None:
    method, path = method_path.split()
    assert admin.request(method, f"/api/v2{path}").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"extra": {"a": "\0"}},
        {"extra": {"a": ["\ud800"]}},
        {"extra": [1]},
        {"surprise": 1},
        {"partition_key": ""},
        {"partition_key": "\ud800"},
        {"partition_key": "x" * 251},
    ],
)
def test_an_event_that_cannot_be_stored_is_refused(
    admin: Client, scheduler: TestScheduler, body: dict[str, Any], database: Database
) -> None:
    content = json.dumps({"asset_id": id_of(admin, "orders"), **body})
    answer = admin.post(f"{ASSETS}/events", content=content, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422), answer.text
    with database.begin() as connection:
        assert rows(connection, "SELECT FROM asset_event") == []
