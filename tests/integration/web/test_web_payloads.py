"""What DAG authors and rows say is data to the server, and names open no doors (cases F3, F5, F6, F16, F20)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench.instant import success
from tests.support.scheduling import TestScheduler, a_dag, install
from tests.support.web import Client, add_instances, add_try

from treadle import DAG, EmptyOperator
from treadle.document import TaskDocument
from treadle.serialization import document_of
from treadle_executors.kubernetes.options import Options
from treadle_executors.kubernetes.pods import PodMaker
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.runs import trigger_run
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload

PAYLOAD = "{{ ''.__class__.__mro__ }}{% for x in range(9) %}{{ 7*7 }}{% endfor %}<img src=x onerror=alert(1)>"
LINK = "[click](javascript:alert(document.cookie)) ${7*7} #{7*7}"


def texts_of(value: Any) -> list[str]:
    """Return all texts of an answer."""
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts_of(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts_of(one)]
    return [value] if isinstance(value, str) else []


@pytest.fixture
def documented(database: Database, clock: ManualClock) -> None:
    """A DAG ``told`` whose texts are all attacks, with a run ``first``."""
    with DAG("told", description=PAYLOAD, doc_md=LINK + PAYLOAD, tags=["{{ 7*7 }}"], dag_display_name=PAYLOAD) as dag:
        EmptyOperator(task_id="work", doc_md=LINK + PAYLOAD, task_display_name=PAYLOAD, owner="{{ 7*7 }}")
    with database.begin() as connection:
        install(connection, document_of(dag), now=clock.now(), tags=["{{ 7*7 }}"], owners=["{{ 7*7 }}"])
        trigger_run(connection, "told", run_id="first", now=clock.now())
        add_instances(connection, "told", "first", {"work": 0}, now=clock.now())


def test_texts_of_a_dag_are_shown_as_they_are_written(admin: Client, documented: None) -> None:
    pages = [
        "/api/v2/dags/told",
        "/api/v2/dags/told/details",
        "/api/v2/dags/told/tasks",
        "/api/v2/dagTags",
        "/ui/dags/told",
        "/ui/dags?limit=5",
        "/api/v2/dags/told/dagRuns/first/taskInstances",
    ]
    seen: set[str] = set()
    for page in pages:
        answer = admin.get(page)
        assert answer.headers["content-type"] == "application/json", page
        seen |= set(texts_of(answer.json()))
    assert {PAYLOAD, LINK + PAYLOAD, "{{ 7*7 }}"} <= seen
    assert not [text for text in seen if "49" in text or "<class" in text]
    assert admin.json("/api/v2/dags/told/details")["owner_links"] == {}


def test_a_log_path_full_of_template_text_is_the_name_of_a_file(
    admin: Client, weather: str, database: Database, clock: ManualClock, settings: Settings
) -> None:
    evil = "{{ ''.__class__ }}/{% raw %}/$(id)/{try_number}.jsonl"
    for name, text in ((evil, "old line"), ("49.jsonl", "rendered"), ("1.jsonl", "filled in")):
        path: Path = settings.path("logs_folder") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"time": "2026-01-01T00:00:00Z", "level": "info", "source": "task", "text": text}) + "\n"
        )
    with database.begin() as connection:
        add_try(connection, "weather", "first", "fetch", "{{ 7*7 }}.jsonl", now=clock.now())
    url = f"{weather}/dagRuns/first/taskInstances/fetch/logs/1"
    assert admin.json(url)["content"] == []
    for stored, expected in ((evil, ["old line"]), ("{try_number}.jsonl", [])):
        with database.begin() as connection:
            connection.exec_driver_sql("UPDATE task_attempt SET log_path = %(path)s", {"path": stored})
        assert [line["event"] for line in admin.json(url)["content"]] == expected


def test_a_task_that_never_ran_shows_no_rendered_fields(
    admin: Client, weather: str, database: Database, clock: ManualClock
) -> None:
    """Case F16: nothing is rendered for looking at it."""
    sql = "UPDATE task_instance SET state = 'upstream_failed', ended_at = %(now)s WHERE task_id = 'fetch'"
    with database.begin() as connection:
        connection.exec_driver_sql(sql, {"now": clock.now()})
    shown = admin.json(f"{weather}/dagRuns/first/taskInstances/fetch")
    assert (shown["state"], shown["rendered_fields"]) == ("upstream_failed", {})


DOORS = [
    "/api/v2/dags/health",
    "/api/v2/dags/ready",
    "/api/v2/dags/health/dagRuns/version",
    "/api/v2/variables/health",
    "/api/v2/variables/ready",
    "/api/v2/connections/version",
    "/api/v2/pools/health",
    "/api/v2/dags/monitor/health",
    "/api/v2/variables/monitor/health",
    "/api/v2/dags?next=/api/v2/monitor/health",
    "/api/v2/dags;/api/v2/monitor/health",
    "/api/v2/variables/x%2f..%2fmonitor%2fhealth",
    "/api/v2/monitor/health/../../dags",
    "/api/v2/monitor/health%2f..%2f..%2fdags",
    "http://treadle//api/v2/dags",
    "/execution/health",
    "/ui/health",
    "/ui/dags/health",
    "/auth/health",
]


def test_a_path_that_ends_like_an_open_one_is_closed(anyone: Client, database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        for dag_id in ("health", "ready", "version"):
            with DAG(dag_id) as dag:
                EmptyOperator(task_id="work")
            install(connection, document_of(dag), now=clock.now())
    for method in ("GET", "HEAD", "POST", "DELETE"):
        answers = {path: anyone.request(method, path).status_code for path in DOORS}
        wrong = {path: status for path, status in answers.items() if status not in {401, 404, 405}}
        assert wrong == {}, method
    for token in ("x", "Bearer", "health"):
        answer = anyone.get("/api/v2/dags/health", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 401


def test_names_like_open_paths_are_ordinary_to_those_who_may(
    admin: Client, database: Database, clock: ManualClock
) -> None:
    with DAG("health") as dag:
        EmptyOperator(task_id="work")
    with database.begin() as connection:
        install(connection, document_of(dag), now=clock.now())
    assert admin.json("/api/v2/dags/health")["dag_id"] == "health"
    assert admin.post("/api/v2/variables", json={"key": "ready", "value": "x"}).status_code == 201
    assert admin.json("/api/v2/variables/ready")["value"] == "x"


def test_a_runs_conf_changes_nothing_of_how_its_tasks_run(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Case F20: image, privileges, queue and file are the DAG's and the administrator's."""
    seen: list[Workload] = []

    def note(workload: Workload) -> dict[str, Any]:
        seen.append(workload)
        return success(workload)

    own = {"pod_override": {"spec": {"containers": [{"name": "base", "image": "good:1"}]}}}
    evil = {"pod_override": {"spec": {"hostNetwork": True, "containers": [{"name": "base", "image": "evil:1"}]}}}
    conf = {
        "executor_config": evil,
        **evil,
        "queue": "root",
        "file": "/tmp/x.py",
        "log_path": "/tmp/x",
        "command": "sh",
    }
    scheduler = TestScheduler(database, settings, clock, note)
    scheduler.install(a_dag("health", TaskDocument(task_id="work", executor_config=own)))
    scheduler.trigger("health", run_id="plain")
    scheduler.trigger("health", run_id="evil", conf=conf)
    scheduler.beats()
    pods = [PodMaker(settings, Options(image="i:1")).pod(one) for one in seen]
    assert [(one["executor_config"], one["queue"]) for one in seen] == [(own, "default")] * 2
    assert all(one["log_path"].startswith(f"health/{one['run']['run_id']}/work/attempt=1.") for one in seen)
    assert [one["spec"]["containers"][0]["image"] for one in pods] == ["good:1"] * 2
    assert "evil" not in json.dumps([one["spec"] for one in pods])
    assert not any("hostNetwork" in one["spec"] for one in pods)
