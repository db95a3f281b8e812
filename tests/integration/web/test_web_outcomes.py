"""Logs, tries and XComs over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.web import Client, add_instances, add_try, add_xcom

from treadle.xcom import dumps
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.runs import trigger_run
from treadle_metadata.settings import Settings

TRIGGER = "/api/v2/dags/weather/dagRuns"
INSTANCES = f"{TRIGGER}/first/taskInstances"


@pytest.fixture
def log(weather: str, database: Database, clock: ManualClock, settings: Settings) -> list[str]:
    """Task fetch has run once and logged 50,000 lines; the last one was torn by a kill."""
    with database.begin() as connection:
        add_try(connection, "weather", "first", "fetch", "weather/first/fetch/attempt=1.jsonl", now=clock.now())
    path = settings.path("logs_folder") / "weather/first/fetch/attempt=1.jsonl"
    path.parent.mkdir(parents=True)
    lines = [
        json.dumps({"time": "2026-01-15T12:00:00Z", "level": "info", "source": "task", "text": f"line {number}"})
        for number in range(50_000)
    ]
    path.write_text("\n".join(lines) + '\n{"time": "2026')
    return [*(f"line {number}" for number in range(50_000)), '{"time": "2026']


def test_a_log_is_read_in_chunks(admin: Client, log: list[str]) -> None:
    url = f"{INSTANCES}/fetch/logs/1"
    seen: list[str] = []
    token: str | None = ""
    chunks = 0
    while token is not None:
        answer = admin.json(url + (f"?token={token}" if token else ""))
        seen += [line["event"] for line in answer["content"]]
        token = answer["continuation_token"]
        chunks += 1
    assert seen == log
    assert chunks > 3
    assert admin.json(f"{url}?full_content=true")["content"][0] == {
        "timestamp": "2026-01-15T12:00:00Z",
        "level": "info",
        "logger": "task",
        "event": "line 0",
    }


def test_a_log_is_streamed_and_its_tail_is_read_alone(admin: Client, log: list[str]) -> None:
    url = f"{INSTANCES}/fetch/logs/1"
    streamed = admin.get(url, headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line)["event"] for line in streamed.text.splitlines()] == log
    assert [line["event"] for line in admin.json(f"{url}?tail=3")["content"]] == log[-3:]
    assert admin.json(f"{url}?tail=0")["content"] == []


def test_a_log_that_is_not_there_is_empty_and_one_outside_its_folder_is_refused(
    admin: Client, weather: str, database: Database, clock: ManualClock, tmp_path: Any
) -> None:
    url = f"{INSTANCES}/fetch/logs"
    assert admin.get(f"{url}/1").status_code == 404
    with database.begin() as connection:
        add_try(connection, "weather", "first", "fetch", "no/such/file", now=clock.now())
    empty: dict[str, Any] = {"content": [], "continuation_token": None}
    assert admin.json(f"{url}/1") == empty | {"message": "try 1 has written no log yet"}
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE task_attempt SET ended_at = started_at, outcome = 'success'")
    for question in ("", "?full_content=true", "?tail=5"):
        assert admin.json(f"{url}/1{question}") == empty | {"message": "try 1 wrote no log"}
    assert admin.get(f"{url}/0").status_code == 404
    assert admin.get(f"{url}/1?token=x").status_code == 422
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE task_attempt SET log_path = '../../../../../../etc/passwd'")
    assert admin.get(f"{url}/1").status_code == 422


def test_tries_tell_how_each_attempt_went(admin: Client, log: list[str]) -> None:
    (attempt,) = admin.json(f"{INSTANCES}/fetch/tries")["task_instances"]
    assert (attempt["try_number"], attempt["state"], attempt["executor"]) == (1, "running", "local")
    assert admin.json(f"{INSTANCES}/fetch/tries/1") == attempt
    assert admin.get(f"{INSTANCES}/fetch/tries/2").status_code == 404
    assert admin.json(f"{INSTANCES}/clean/0/tries")["total_entries"] == 0
    assert admin.json(f"{INSTANCES}/fetch")["rendered_fields"] == {"command": "ls"}


def test_xcoms_are_shown_as_plain_json(admin: Client, weather: str, database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        for key, value in (("return_value", {"a": [1, 2]}), ("when", clock.now()), ("a/b", None), ("half", "\ud800")):
            add_xcom(connection, "weather", "first", "fetch", key, dumps(value)[0], now=clock.now())
    url = f"{INSTANCES}/fetch/xcomEntries"
    listed = admin.json(url)
    assert [entry["key"] for entry in listed["xcom_entries"]] == ["a/b", "half", "return_value", "when"]
    assert "value" not in listed["xcom_entries"][0]
    assert admin.json(f"{url}/return_value")["value"] == {"a": [1, 2]}
    assert json.loads(admin.json(f"{url}/return_value?stringify=true")["value"]) == {"a": [1, 2]}
    assert "2026-01-15" in json.dumps(admin.json(f"{url}/when")["value"])
    assert admin.json(f"{url}/a/b")["value"] is None
    assert admin.json(f"{url}/half")["value"] == "?"
    assert admin.get(f"{url}/return_value?deserialize=true").status_code == 422
    assert admin.get(f"{url}/nothing").status_code == 404
    assert admin.json(f"{INSTANCES}/~/xcomEntries?xcom_key=when")["total_entries"] == 1


def test_a_mapped_tasks_xcoms_are_told_apart_by_index(
    admin: Client, weather: str, database: Database, clock: ManualClock
) -> None:
    with database.begin() as connection:
        trigger_run(connection, "weather", run_id="second", now=clock.now())
        add_instances(connection, "weather", "second", {"clean": 2}, now=clock.now())
        add_xcom(connection, "weather", "second", "clean", "return_value", "7", now=clock.now())
    url = f"{TRIGGER}/second/taskInstances/clean/xcomEntries"
    assert admin.json(f"{url}?map_index=1")["total_entries"] == 1
    assert admin.json(f"{url}/return_value?map_index=1")["value"] == 7
    assert admin.get(f"{url}/return_value").status_code == 404
