"""Many edits in one request: each on its own, with a report; and edits that name what they saw (case E15)."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from airflow_client.client import api, models
from fastapi import FastAPI
from tests.integration.rest.conftest import Service
from tests.support.scheduling import a_dag, install
from tests.support.web import Client, client_of

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.statements import execute

RESOURCES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "pools": (
        {"name": "one", "slots": 1},
        {"name": "one", "slots": 2},
        {"name": "bad", "slots": 1, "description": "\0"},
    ),
    "variables": ({"key": "one", "value": "1"}, {"key": "one", "value": "2"}, {"key": " bad", "value": "1"}),
    "connections": (
        {"connection_id": "one", "conn_type": "http", "port": 1},
        {"connection_id": "one", "conn_type": "http", "port": 2},
        {"connection_id": "bad", "conn_type": "not a word"},
    ),
}


def told(admin: Client, kind: str, *actions: dict[str, Any]) -> dict[str, Any]:
    answer = admin.patch(f"/api/v2/{kind}", json={"actions": list(actions)})
    assert answer.status_code == 200, answer.text
    return {
        name: (part["success"], [(one["key"], one["status_code"]) for one in part["errors"]])
        for name, part in answer.json().items()
        if part is not None
    }


@pytest.mark.parametrize("kind", RESOURCES)
def test_what_is_refused_of_a_bulk_edit_stops_nothing_else(admin: Client, kind: str) -> None:
    one, changed, bad = RESOURCES[kind]
    bad_key = next(iter(bad.values()))
    create: dict[str, Any] = {"action": "create", "entities": [bad, one, one]}
    assert told(admin, kind, create) == {"create": (["one"], [(bad_key, 422), ("one", 409)])}
    assert told(admin, kind, create | {"action_on_existence": "skip"}) == {"create": ([], [(bad_key, 422)])}
    assert told(admin, kind, {"action": "create", "entities": [changed], "action_on_existence": "overwrite"}) == {
        "create": (["one"], [])
    }
    kept = admin.json(f"/api/v2/{kind}/one")
    assert {name: kept[name] for name in changed} == changed
    update = {"action": "update", "entities": [one, one | {next(iter(one)): "gone"}]}
    delete = {"action": "delete", "entities": ["one", "gone"]}
    assert told(admin, kind, update, delete) == {
        "update": (["one"], [("gone", 404)]),
        "delete": (["one"], [("gone", 404)]),
    }
    assert told(admin, kind, delete | {"action_on_non_existence": "skip"}) == {"delete": ([], [])}
    assert admin.get(f"/api/v2/{kind}/one").status_code == 404


def test_an_edit_that_saw_something_older_is_refused(admin: Client) -> None:
    admin.post("/api/v2/variables", json={"key": "oven", "value": "220"})
    seen = admin.get("/api/v2/variables/oven").headers["etag"]
    first = admin.patch("/api/v2/variables/oven", json={"key": "oven", "value": "230"}, headers={"If-Match": seen})
    assert first.status_code == 200
    second = admin.patch("/api/v2/variables/oven", json={"key": "oven", "value": "1"}, headers={"If-Match": seen})
    assert (second.status_code, "has changed since it was read" in second.json()["detail"]) == (412, True)
    assert admin.json("/api/v2/variables/oven")["value"] == "230"
    again = {"If-Match": first.headers["etag"]}
    assert admin.patch("/api/v2/variables/oven", json={"key": "oven", "value": "1"}, headers=again).status_code == 200
    for path, body in (
        ("/api/v2/pools/default_pool", {"slots": 7}),
        ("/api/v2/connections/shop", {"connection_id": "shop", "conn_type": "http", "password": "new"}),
    ):
        admin.post("/api/v2/connections", json={"connection_id": "shop", "conn_type": "http", "password": "old"})
        seen = admin.get(path).headers["etag"]
        assert [admin.patch(path, json=body, headers={"If-Match": seen}).status_code for _ in range(2)] == [200, 412]


def test_runs_instances_and_dags_are_guarded_too(service: Service, app: FastAPI) -> None:
    with client_of(app) as client:
        client.token = service.token
        runs = "/api/v2/dags/bakery/dagRuns"
        client.post(runs, json={"dag_run_id": "order", "logical_date": None})
        service.scheduler.beats()
        for path, body in (
            ("/api/v2/dags/bakery", {"is_paused": True}),
            (f"{runs}/order", {"note": "late"}),
            (f"{runs}/order/taskInstances/sell", {"note": "late"}),
        ):
            seen = {"If-Match": client.get(path).headers["etag"]}
            assert [client.patch(path, json=body, headers=seen).status_code for _ in range(2)] == [200, 412]
            assert client.patch(path, json=body, headers={"If-Match": "*"}).status_code == 200


def test_of_two_edits_that_saw_the_same_one_is_refused(admin: Client, app: FastAPI) -> None:
    admin.post("/api/v2/variables", json={"key": "oven", "value": "220"})
    seen = admin.get("/api/v2/variables/oven").headers["etag"]
    together, answers = threading.Barrier(2), []

    def edit(value: str) -> None:
        with client_of(app) as client:
            client.token = admin.token
            together.wait()
            body = {"key": "oven", "value": value}
            answers.append(client.patch("/api/v2/variables/oven", json=body, headers={"If-Match": seen}).status_code)

    threads = [threading.Thread(target=edit, args=(value,)) for value in ("1", "2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200, 412]


def test_500_dags_are_paused_by_their_tag_in_one_request(admin: Client, database: Database, clock: ManualClock) -> None:
    """Case E15."""
    with database.begin() as connection:
        install(connection, a_dag("model"), now=clock.now(), tags=["day"])
        execute(
            connection,
            """
            INSERT INTO dag (dag_id, file, version_id, is_paused, tags, created_at)
            SELECT 'dag' || n, 'dags.py', version_id, false, '{night}', created_at
            FROM dag CROSS JOIN generate_series(1, 499) AS n
            """,
        )
    answer = admin.patch("/api/v2/dags?tags=night&limit=10", json={"is_paused": True})
    assert (answer.status_code, answer.json()["total_entries"], len(answer.json()["dags"])) == (200, 499, 10)
    assert admin.json("/api/v2/dags?paused=false")["total_entries"] == 1


def test_the_official_client_edits_in_bulk(service: Service) -> None:
    pools = service.api(api.PoolApi)
    body = models.BulkBodyPoolBody(
        actions=[
            models.ActionsInner3(
                models.BulkCreateActionPoolBody(
                    action="create",
                    entities=[models.PoolBody(name=name, slots=1) for name in ("a", "default_pool", "b")],
                    action_on_existence="fail",
                )
            )
        ]
    )
    report = pools.bulk_pools(body).create
    assert report.success == ["a", "b"]
    assert [(one["key"], one["status_code"]) for one in report.errors] == [("default_pool", 409)]


def test_runs_and_task_instances_are_edited_and_cleared_in_bulk(service: Service) -> None:
    runs, tasks = service.api(api.DagRunApi), service.api(api.TaskInstanceApi)
    for run_id in ("one", "two", "three"):
        runs.trigger_dag_run("bakery", models.TriggerDAGRunPostBody(dag_run_id=run_id, logical_date=None))
    service.scheduler.beats()
    listed = runs.get_list_dag_runs_batch("~", models.DAGRunsBatchBody(dag_ids=["bakery"], states=["success"]))
    assert {one.dag_run_id for one in listed.dag_runs} == {"one", "two", "three"}
    batch = models.TaskInstancesBatchBody(dag_ids=["bakery"], dag_run_ids=["one", "two"], task_ids=["sell"])
    found = tasks.get_task_instances_batch("~", "~", batch)
    assert {(one.dag_run_id, one.task_id) for one in found.task_instances} == {("one", "sell"), ("two", "sell")}

    update = models.BulkUpdateActionBulkTaskInstanceBody(
        action="update",
        entities=[
            models.BulkTaskInstanceBody(task_id="sell", dag_run_id=run_id, new_state="failed")
            for run_id in ("one", "gone")
        ],
    )
    marked = tasks.bulk_task_instances(
        "bakery", "~", models.BulkBodyBulkTaskInstanceBody(actions=[models.ActionsInner1(update)])
    ).update
    assert marked.success == ["bakery.one.sell[None]"]
    assert [one["status_code"] for one in marked.errors] == [404]
    assert tasks.get_task_instance("bakery", "one", "sell").state == "failed"

    clear = models.BulkDAGRunClearBody(
        dag_runs=[models.BulkDAGRunBody(dag_run_id="one"), models.BulkDAGRunBody(dag_run_id="two")], dry_run=False
    )
    cleared = runs.clear_dag_runs("bakery", clear).actual_instance
    assert {one.dag_run_id for one in cleared.dag_runs} == {"one", "two"}
    delete = models.BulkDeleteActionBulkDAGRunBody(
        action="delete", entities=[models.EntitiesInner("one"), models.EntitiesInner("three")]
    )
    report = runs.bulk_dag_runs("bakery", models.BulkBodyBulkDAGRunBody(actions=[models.ActionsInner(delete)])).delete
    # The cleared one is under way again.
    assert (report.success, [one["status_code"] for one in report.errors]) == (["three"], [409])
