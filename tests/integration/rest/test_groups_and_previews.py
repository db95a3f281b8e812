"""Task groups by the API: listing what is in one, marking all of it, and what marking would change before it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from tests.integration.rest.conftest import Service
from tests.support.holding import hold
from tests.support.scheduling import a_dag
from tests.support.web import Client, client_of, move

from treadle.document import GroupDocument, TaskDocument

SHOP = a_dag(
    "shop",
    TaskDocument("open", operator="EmptyOperator"),
    TaskDocument("sell.bread", operator="EmptyOperator", upstream=("open",), group_id="sell"),
    TaskDocument("sell.sweets.cake", operator="EmptyOperator", upstream=("open",), group_id="sell.sweets"),
    TaskDocument("close", operator="EmptyOperator", upstream=("sell.bread", "sell.sweets.cake")),
    groups=(GroupDocument("sell"), GroupDocument("sell.sweets", parent="sell")),
)
RUN = "/api/v2/dags/shop/dagRuns/day"
NOTE = "no flour"
SELL = ["sell.bread", "sell.sweets.cake"]


@pytest.fixture
def client(service: Service, app: FastAPI) -> Iterator[Client]:
    """A client of the service, where DAG ``shop`` has a finished run."""
    service.scheduler.install(SHOP)
    service.scheduler.trigger("shop", run_id="day")
    service.scheduler.beats()
    with client_of(app) as client:
        client.token = service.token
        yield client


def tasks(answer: dict[str, Any]) -> list[str]:
    return [one["task_id"] for one in answer["task_instances"]]


def test_a_group_is_listed_with_the_groups_within_it(client: Client) -> None:
    assert tasks(client.json(f"{RUN}/taskInstances?task_group_id=sell")) == SELL
    assert tasks(client.json(f"{RUN}/taskInstances?task_group_id=sell.sweets")) == SELL[1:]
    of_all_runs = client.json("/api/v2/dags/shop/dagRuns/~/taskInstances?task_group_id=sell&state=success")
    assert sorted(tasks(of_all_runs)) == SELL
    missing = client.get(f"{RUN}/taskInstances?task_group_id=sel")
    assert (missing.status_code, "did you mean 'sell'" in missing.json()["detail"]) == (404, True)
    several = client.get("/api/v2/dags/~/dagRuns/~/taskInstances?task_group_id=sell")
    assert (several.status_code, "needs a DAG" in several.json()["detail"]) == (422, True)


def test_a_preview_of_the_mark_of_a_run_changes_nothing_and_the_mark_changes_just_that(
    client: Client, service: Service
) -> None:
    tasks = (
        TaskDocument("lay", is_setup=True, outlets=(("asset", "table"),)),
        TaskDocument("eat", operator="PythonOperator", upstream=("lay",)),
        TaskDocument("clear", is_teardown=True, setups=("lay",), upstream=("eat", "lay")),
        TaskDocument("pay", operator="PythonOperator", upstream=("eat",)),
    )
    service.scheduler.install(a_dag("meal", *tasks))
    hold(service.scheduler, "eat")
    service.scheduler.trigger("meal", run_id="noon")
    service.scheduler.beats()
    with service.scheduler.database.begin() as connection:
        move(connection, "task_id = 'eat'", "deferred")
    run = "/api/v2/dags/meal/dagRuns/noon"
    before = service.scheduler.task_states("noon")
    shown = client.patch(f"{run}/dry_run", json={"state": "failed"}).json()
    assert (shown["new_state"], shown["teardowns"], shown["total_entries"]) == ("running", ["clear"], 2)
    assert service.scheduler.task_states("noon") == before
    assert client.patch(run, json={"state": "failed"}).status_code == 200
    after = service.scheduler.task_states("noon")
    assert (
        {one["task_id"]: (one["state"], one["new_state"]) for one in shown["changes"]}
        == {task: (before[task], state) for task, state in after.items() if state != before[task]}
        == {"eat": ("deferred", "failed"), "pay": ("none", "skipped")}
    )
    again = client.patch(f"{run}/dry_run", json={"state": "failed"})
    assert (again.status_code, "ends as failed already" in again.json()["detail"]) == (409, True)
    assert client.patch(f"{run}/dry_run", json={"note": "x"}).json()["changes"] == []


def test_a_preview_of_a_mark_changes_nothing_and_the_mark_changes_just_that(client: Client, service: Service) -> None:
    """Case H11."""
    group, mark = f"{RUN}/taskGroupInstances/sell", {"new_state": "failed", "note": NOTE}
    assert tasks(client.patch(f"{group}/dry_run", json=mark).json()) == SELL
    assert set(service.scheduler.task_states("day").values()) == {"success"}
    done = client.patch(group, json=mark).json()["task_instances"]
    assert {(one["task_id"], one["state"], one["note"]) for one in done} == {
        (one, "failed", "no flour") for one in SELL
    }
    assert service.scheduler.task_states("day") == {"open": "success", "close": "success"} | dict.fromkeys(
        SELL, "failed"
    )

    below = {"new_state": "skipped", "include_downstream": True}
    shown = client.patch(f"{RUN}/taskInstances/sell.bread/dry_run", json=below).json()
    assert tasks(shown) == ["close", "sell.bread"]
    client.patch(f"{RUN}/taskInstances/sell.bread", json=below)
    states = service.scheduler.task_states("day")
    assert [states[one] for one in ("sell.bread", "close", "sell.sweets.cake")] == ["skipped", "skipped", "failed"]
    assert client.patch(group, json={}).status_code == 422
    assert client.patch(f"{RUN}/taskInstances/gone/dry_run", json=below).status_code == 404
