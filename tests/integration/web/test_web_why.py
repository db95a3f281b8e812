"""Why is it not running, and version diffs, over HTTP."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.scheduling import a_dag, install
from tests.support.versions import add_version
from tests.support.web import LOGS_DAG, Client

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import processes
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.statements import execute


@pytest.fixture
def alive(database: Database, clock: ManualClock) -> None:
    """A scheduler that is alive."""
    with database.begin() as connection:
        processes.register(connection, "scheduler", clock.now(), 60)


def test_a_dag_is_explained(admin: Client, weather: str, database: Database, clock: ManualClock) -> None:
    answer = admin.json(f"{weather}/why")
    assert answer["reason"] == "no_scheduler"
    assert answer["blocked_by"] == {"kind": "scheduler", "id": "scheduler"}
    assert answer["sentence"].startswith("no scheduler is alive")
    assert answer["until"] is None


def test_a_run_is_explained(admin: Client, weather: str, alive: None, database: Database) -> None:
    assert admin.json(f"{weather}/dagRuns/first/why")["reason"] == "next_beat"
    with database.begin() as connection:
        execute(connection, "UPDATE dag SET is_paused = true")
    answer = admin.json(f"{weather}/dagRuns/first/why")
    assert (answer["reason"], answer["blocked_by"]) == ("paused", {"kind": "dag", "id": "weather"})


def test_a_task_is_explained_with_and_without_its_map_index(
    admin: Client, weather: str, alive: None, database: Database
) -> None:
    with database.begin() as connection:
        execute(connection, "UPDATE dag_run SET state = 'running'")
    url = f"{weather}/dagRuns/first/taskInstances/clean/why"
    answer = admin.json(url)
    assert answer == {
        "reason": "trigger_rule",
        "sentence": "clean[0] waits for 1 of 1 upstream task: all must succeed (all_success); unfinished: fetch (none)",
        "blocked_by": {"kind": "task_instance", "id": "weather/first/fetch"},
        "until": None,
    }
    assert admin.json(f"{url}?map_index=2")["sentence"].startswith("clean[2] waits")
    assert admin.get(f"{url}?map_index=3").status_code == 404


@pytest.mark.parametrize(
    "url", ["/api/v2/dags/wether/why", "/api/v2/dags/weather/dagRuns/x/why", "/api/v2/dags/weather/dagRuns/first/x/why"]
)
def test_what_does_not_exist_is_not_explained(admin: Client, weather: str, url: str) -> None:
    assert admin.get(url).status_code == 404


def test_a_task_that_does_not_exist_is_answered_with_the_nearest(admin: Client, weather: str) -> None:
    answer = admin.get(f"{weather}/dagRuns/first/taskInstances/fecth/why")
    assert answer.status_code == 404
    assert "did you mean 'fetch'" in answer.json()["detail"]


def test_two_versions_are_compared(admin: Client, weather: str, database: Database, clock: ManualClock) -> None:
    changed = replace(
        LOGS_DAG,
        schedule=ScheduleDocument(kind="cron", expressions=("0 7 * * *",), summary="0 7 * * *"),
        tasks=(replace(LOGS_DAG.tasks[0], retries=5), TaskDocument("report", upstream=("fetch",))),
    )
    with database.begin() as connection:
        add_version(connection, changed, now=clock.now(), code="new")
    answer = admin.json(f"{weather}/dagVersions/1/diff/2")
    assert answer == {
        "dag_id": "weather",
        "old_version": 1,
        "new_version": 2,
        "is_same": False,
        "source_changed": True,
        "tasks_added": ["report"],
        "tasks_removed": ["clean"],
        "tasks_changed": [{"task_id": "fetch", "changes": [{"field": "retries", "old": 2, "new": 5}]}],
        "edges_added": [{"upstream_task_id": "fetch", "downstream_task_id": "report"}],
        "edges_removed": [{"upstream_task_id": "fetch", "downstream_task_id": "clean"}],
        "schedule": [
            {"field": "expressions", "old": ["0 6 * * *"], "new": ["0 7 * * *"]},
            {"field": "summary", "old": "0 6 * * *", "new": "0 7 * * *"},
        ],
        "dag": [],
    }
    assert admin.json(f"{weather}/dagVersions/2/diff/2")["is_same"] is True
    assert admin.get(f"{weather}/dagVersions/1/diff/3").status_code == 404


def test_a_version_of_another_dag_is_no_version_of_this(
    admin: Client, weather: str, database: Database, clock: ManualClock
) -> None:
    with database.begin() as connection:
        install(connection, a_dag("other"), now=clock.now())
        add_version(connection, a_dag("other", catchup=True), now=clock.now())
    assert admin.get(f"{weather}/dagVersions/1/diff/2").status_code == 404
