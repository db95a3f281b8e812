"""The official client of Airflow 3.3 drives the service: what users' programs do with Airflow's API they do with ours.

The client checks every answer against its own models, so a missing field or a wrong type fails here.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from airflow_client.client import api, models
from airflow_client.client.exceptions import ApiException, NotFoundException
from tests.integration.rest.conftest import Service


def trigger(service: Service, run_id: str, **conf: object) -> models.DAGRunResponse:
    body = models.TriggerDAGRunPostBody(dag_run_id=run_id, logical_date=None, conf=conf)
    return service.api(api.DagRunApi).trigger_dag_run("bakery", body)


def test_list_trigger_poll_logs_and_result(service: Service) -> None:
    dags, runs, tasks = (service.api(kind) for kind in (api.DAGApi, api.DagRunApi, api.TaskInstanceApi))
    listed = dags.get_dags(
        tags=["food"], owners=["ann"], paused=False, dag_id_pattern="bak", limit=5, order_by=["-dag_id"]
    )
    assert [one.dag_id for one in listed.dags] == ["bakery"]
    assert listed.total_entries == 1
    assert dags.get_dag("bakery").description == "Bakes and sells"
    assert dags.get_dag_details("bakery").params["loaves"]["value"] == 10

    made = trigger(service, "order-1", loaves=3)
    assert (made.state, made.run_type, made.triggered_by, made.conf) == ("queued", "manual", "rest_api", {"loaves": 3})
    service.scheduler.beats()
    assert runs.get_dag_run("bakery", "order-1").state == "success"
    assert runs.get_dag_runs("~", state=["success"], run_type=["manual"]).dag_runs[0].dag_run_id == "order-1"
    assert runs.get_dag_runs("bakery", state=["failed"]).total_entries == 0

    found = tasks.get_task_instances("bakery", "order-1")
    assert [(one.task_id, one.state, one.try_number) for one in found.task_instances] == [
        ("bake", "success", 1),
        ("sell", "success", 1),
    ]
    assert tasks.get_task_instance("bakery", "order-1", "bake").operator == "PythonOperator"
    log = tasks.get_log("bakery", "order-1", "bake", 1)
    assert [one.event for one in log.content.actual_instance] == ["bake!"]
    value = service.api(api.XComApi).get_xcom_entry(
        dag_id="bakery", dag_run_id="order-1", task_id="bake", xcom_key="return_value"
    )
    assert value.actual_instance.value == 3


def test_a_conf_that_does_not_suit_is_refused_and_a_second_run_of_one_name_is_a_conflict(service: Service) -> None:
    with pytest.raises(ApiException) as refused:
        trigger(service, "order-1", loaves=0)
    assert refused.value.status == 422
    assert "loaves" in refused.value.body
    trigger(service, "order-1", loafs=3, gift=True)
    with pytest.raises(ApiException) as refused:
        trigger(service, "order-1")
    assert refused.value.status == 409
    with pytest.raises(NotFoundException):
        service.api(api.DAGApi).get_dag("bakry")


def test_clearing_shows_first_and_then_runs_again(service: Service) -> None:
    runs, tasks = service.api(api.DagRunApi), service.api(api.TaskInstanceApi)
    trigger(service, "order-1")
    service.scheduler.beats()
    body = models.ClearTaskInstancesBody(dag_run_id="order-1", task_ids=None, only_failed=False)
    body.task_ids = [models.ClearTaskInstancesBodyTaskIdsInner("sell")]
    shown = tasks.post_clear_task_instances("bakery", body)
    assert [one.task_id for one in shown.task_instances] == ["sell"]
    assert runs.get_dag_run("bakery", "order-1").state == "success"
    body.dry_run = False
    tasks.post_clear_task_instances("bakery", body)
    assert runs.get_dag_run("bakery", "order-1").state in {"queued", "running"}
    service.scheduler.beats()
    assert tasks.get_task_instance("bakery", "order-1", "sell").try_number == 2
    assert tasks.get_task_instance("bakery", "order-1", "bake").try_number == 1

    # Read plainly: the client's own model of this answer fits every task instance twice, whoever sends it.
    answer = runs.clear_dag_run_without_preload_content("bakery", "order-1", models.DAGRunClearBody(dry_run=True))
    assert [one["task_id"] for one in json.loads(answer.data)["task_instances"]] == ["bake", "sell"]
    again = runs.clear_dag_run("bakery", "order-1", models.DAGRunClearBody(dry_run=False)).actual_instance
    assert isinstance(again, models.DAGRunResponse)
    assert again.state in {"queued", "running"}


def test_marking_and_deleting(service: Service) -> None:
    runs, tasks = service.api(api.DagRunApi), service.api(api.TaskInstanceApi)
    trigger(service, "order-1")
    service.scheduler.beats()
    patched = tasks.patch_task_instance(
        "bakery", "order-1", "sell", models.PatchTaskInstanceBody(new_state="failed", note="stale")
    )
    assert [(one.state, one.note) for one in patched.task_instances] == [("failed", "stale")]
    run = runs.patch_dag_run("bakery", "order-1", models.DAGRunPatchBody(state="failed", note="all of it"))
    assert (run.state, run.note) == ("failed", "all of it")
    runs.delete_dag_run("bakery", "order-1")
    with pytest.raises(NotFoundException):
        runs.get_dag_run("bakery", "order-1")


def test_variables(service: Service) -> None:
    variables = service.api(api.VariableApi)
    made = variables.post_variable(models.VariableBody(key="oven", value={"heat": 220}, description="hot"))
    assert (made.key, made.value, made.is_encrypted) == ("oven", '{"heat": 220}', True)
    variables.patch_variable("oven", models.VariableBody(key="oven", value="230"), update_mask=["value"])
    got = variables.get_variable("oven")
    assert (got.value, got.description) == ("230", "hot")
    assert [one.key for one in variables.get_variables(variable_key_prefix_pattern="ov").variables] == ["oven"]
    variables.delete_variable("oven")
    assert variables.get_variables().total_entries == 0


def test_pools(service: Service) -> None:
    pools = service.api(api.PoolApi)
    pools.post_pool(models.PoolBody(name="ovens", slots=2))
    assert pools.patch_pool("ovens", models.PoolPatchBody(slots=3)).open_slots == 3
    assert [one.name for one in pools.get_pools(pool_name_pattern="oven").pools] == ["ovens"]
    pools.delete_pool("ovens")
    with pytest.raises(NotFoundException):
        pools.get_pool("ovens")


def test_connections_keep_their_secrets(service: Service) -> None:
    connections = service.api(api.ConnectionApi)
    body = models.ConnectionBody(connection_id="shop", conn_type="http", host="shop.test", password="pa55", port=80)
    assert connections.post_connection(body).password == "***"
    changed = models.ConnectionBody(connection_id="shop", conn_type="http", port=81)
    got = connections.patch_connection("shop", changed, update_mask=["port"])
    assert (got.port, got.host) == (81, "shop.test")
    assert "pa55" not in connections.get_connections().to_json()
    connections.delete_connection("shop")
    assert connections.get_connections().total_entries == 0


def test_backfill(service: Service) -> None:
    backfills = service.api(api.BackfillApi)
    body = models.BackfillPostBody(
        dag_id="bakery", from_date=datetime(2026, 1, 2, tzinfo=UTC), to_date=datetime(2026, 1, 4, 23, tzinfo=UTC)
    )
    planned = backfills.create_backfill_dry_run(body)
    assert planned.total_entries == 3
    made = backfills.create_backfill(body)
    assert (made.dag_id, made.reprocess_behavior, made.completed_at) == ("bakery", "none", None)
    assert backfills.pause_backfill(made.id).is_paused
    assert not backfills.unpause_backfill(made.id).is_paused
    for _ in range(4):
        service.scheduler.clock.advance(timedelta(seconds=1))
        service.scheduler.beats()
    assert backfills.get_backfill(made.id).completed_at is not None
    assert [one.id for one in backfills.list_backfills("bakery").backfills] == [made.id]
    runs = service.api(api.DagRunApi).get_dag_runs("bakery", run_type=["backfill"])
    assert [one.state for one in runs.dag_runs] == ["success"] * 3
