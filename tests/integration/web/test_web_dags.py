"""DAGs, versions, tasks, sources and health over HTTP, in Airflow's shapes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi import FastAPI
from tests.support.scheduling import a_dag, install
from tests.support.web import Client

from treadle.document import TaskDocument
from treadle_metadata import processes
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_webserver.permissions import TABLE


@pytest.fixture
def three_dags(database: Database, clock: ManualClock) -> None:
    """DAGs alpha (paused, tags a b), beta (tag b), gamma (its file is gone)."""
    with database.begin() as connection:
        install(connection, a_dag("alpha"), now=clock.now(), is_paused=True, tags=["a", "b"], owners=["ann"])
        install(connection, a_dag("beta"), now=clock.now(), tags=["b"], owners=["bob"])
        install(connection, a_dag("gamma"), now=clock.now(), is_active=False)


LISTS = {
    "": ["alpha", "beta"],
    "?exclude_stale=false": ["alpha", "beta", "gamma"],
    "?paused=true": ["alpha"],
    "?tags=a&tags=b": ["alpha", "beta"],
    "?tags=a&tags=b&tags_match_mode=all": ["alpha"],
    "?owners=bob": ["beta"],
    "?dag_id_pattern=ET": ["beta"],
    "?dag_id_pattern=alp|bet": ["alpha", "beta"],
    "?dag_id_prefix_pattern=al": ["alpha"],
    "?order_by=-dag_id": ["beta", "alpha"],
    "?limit=1&offset=1": ["beta"],
}


def test_dags_are_listed_and_filtered(admin: Client, three_dags: None) -> None:
    listed = {query: [dag["dag_id"] for dag in admin.json(f"/api/v2/dags{query}")["dags"]] for query in LISTS}
    assert listed == LISTS


def test_the_total_counts_all_pages(admin: Client, three_dags: None) -> None:
    assert admin.json("/api/v2/dags?limit=1")["total_entries"] == 2
    assert admin.json("/api/v2/dags?limit=1&offset=7") == {"dags": [], "total_entries": 2}


def test_one_dag_has_airflows_fields(admin: Client, weather: str) -> None:
    dag = admin.json(weather)
    assert dag["dag_id"] == "weather"
    assert dag["tags"][0] == {"name": "daily", "dag_id": "weather", "dag_display_name": "weather"}
    assert (dag["is_backfillable"], dag["timetable_periodic"], dag["has_task_concurrency_limits"]) == (
        True,
        True,
        False,
    )
    assert dag["max_active_runs"] == 16
    details = admin.json(f"{weather}/details")
    assert details["timezone"] == "UTC"
    assert details["active_runs_count"] == 1
    assert details["latest_dag_version"]["version_number"] == 1
    assert set(dag) < set(details)


def test_an_unknown_dag_is_named_with_the_nearest_one(admin: Client, weather: str) -> None:
    answer = admin.get("/api/v2/dags/wether")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "DAG 'wether' was not found; did you mean 'weather'?",
        "what": "DAG",
        "which": "wether",
    }


def test_tasks_come_with_their_neighbours(admin: Client, weather: str) -> None:
    fetch, clean = admin.json(f"{weather}/tasks")["tasks"]
    assert (fetch["task_id"], fetch["downstream_task_ids"]) == ("fetch", ["clean"])
    assert fetch["retry_delay"] == {"__type": "TimeDelta", "days": 0, "seconds": 300, "microseconds": 0}
    assert clean["class_ref"] == {"module_path": "treadle.operators", "class_name": "PythonOperator"}
    assert admin.json(f"{weather}/tasks/clean") == clean
    assert admin.get(f"{weather}/tasks/cleen").json()["detail"].endswith("did you mean 'clean'?")


def test_versions_and_source_can_be_read(admin: Client, weather: str) -> None:
    assert admin.json(f"{weather}/dagVersions")["dag_versions"][0]["version_number"] == 1
    assert admin.json(f"{weather}/dagVersions/1")["dag_id"] == "weather"
    assert admin.get(f"{weather}/dagVersions/2").status_code == 404
    assert admin.json("/api/v2/dagSources/weather") == {
        "content": "",
        "dag_id": "weather",
        "dag_display_name": "weather",
        "version_number": 1,
    }
    text = admin.get("/api/v2/dagSources/weather", headers={"Accept": "text/plain"})
    assert text.headers["content-type"].startswith("text/plain")


def test_a_dag_is_paused_and_unpaused_and_the_acts_are_audited(admin: Client, weather: str) -> None:
    assert admin.patch(weather, json={"is_paused": True}).json()["is_paused"] is True
    assert admin.json(weather)["is_paused"] is True
    admin.patch(weather, json={"is_paused": True})
    admin.patch(weather, json={"is_paused": False})
    events = admin.json("/api/v2/eventLogs?dag_id=weather")["event_logs"]
    assert [(event["event"], event["owner"]) for event in events] == [("unpause_dag", "admin"), ("pause_dag", "admin")]


def test_many_dags_are_paused_at_once(admin: Client, three_dags: None) -> None:
    assert admin.patch("/api/v2/dags", json={"is_paused": True}).status_code == 422
    answer = admin.patch("/api/v2/dags?dag_id_pattern=~&limit=1", json={"is_paused": True})
    assert answer.json()["total_entries"] == 2
    assert {dag["is_paused"] for dag in admin.json("/api/v2/dags")["dags"]} == {True}


def test_runs_are_counted_by_state(admin: Client, weather: str) -> None:
    (stats,) = admin.json("/api/v2/dagStats?dag_ids=weather")["dags"]
    assert {one["state"]: one["count"] for one in stats["stats"]} == {
        "queued": 1, "running": 0, "success": 0, "failed": 0,
    }  # fmt: skip
    assert admin.json("/api/v2/dagTags") == {"tags": ["daily", "demo"], "total_entries": 2}


def test_task_limits_are_seen(admin: Client, database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        limited = TaskDocument(task_id="one", max_active_tis_per_dag=1)
        install(connection, a_dag("limited", limited), now=clock.now())
    assert admin.json("/api/v2/dags/limited")["has_task_concurrency_limits"] is True


def test_health_follows_the_leases(anyone: Client, database: Database, clock: ManualClock) -> None:
    first = anyone.json("/api/v2/monitor/health")
    assert first["metadatabase"] == {"status": "healthy"}
    nothing_is_late = {"schedule_lag_seconds": 0.0}
    assert first["scheduler"] == {"status": "unhealthy", "latest_scheduler_heartbeat": None} | nothing_is_late
    assert first["triggerer"]["status"] is None
    with database.begin() as connection:
        processes.register(connection, "scheduler", clock.now(), 30)
    assert anyone.json("/api/v2/monitor/health")["scheduler"] == {
        "status": "healthy",
        "latest_scheduler_heartbeat": "2026-01-15T12:00:00Z",
        "schedule_lag_seconds": 0.0,
    }
    clock.advance(timedelta(seconds=31))
    assert anyone.json("/api/v2/monitor/health")["scheduler"]["status"] == "unhealthy"


def test_version_tells_the_version(anyone: Client) -> None:
    assert set(anyone.json("/api/v2/version")) == {"version", "git_version"}


def test_the_openapi_document_names_every_route_once(app: FastAPI) -> None:
    document = app.openapi()
    named = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    # The web pages are no part of the API.
    listed = TABLE.keys() - {("GET", "/{address:path}")}
    assert named == {(method, path.replace(":path}", "}")) for method, path in listed}
    ids = [one["operationId"] for methods in document["paths"].values() for one in methods.values()]
    assert len(ids) == len(set(ids))


def test_health_tells_how_late_the_schedules_are(anyone: Client, database: Database, clock: ManualClock) -> None:
    """Case A75."""
    with database.begin() as connection:
        for name, minutes, changes in (("late", 3, {}), ("held", 9, {"at_run_limit": True})):
            due = clock.now() - timedelta(minutes=minutes)
            install(connection, a_dag(name), now=clock.now(), next_run_at=due, **changes)
    assert anyone.json("/api/v2/monitor/health")["scheduler"]["schedule_lag_seconds"] == 180.0
