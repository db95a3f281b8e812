"""One request that makes a run, waits for its end and brings what a task returned; XComs by hand; deleting a DAG."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.integration.rest.conftest import Service
from tests.support.waiting import wait_until

from treadle.document import SKIPPED_TASKS
from treadle_webserver.routes import dag_deletion

RUNS = "/api/v2/dags/bakery/dagRuns"


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    """A client of the service."""
    headers = {"Authorization": f"Bearer {service.token}"}
    with httpx.Client(base_url=service.url, headers=headers, timeout=30) as client:
        yield client


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.text.splitlines()]


def answer_awaited(service: Service, client: httpx.Client, conf: dict[str, Any]) -> httpx.Response:
    """Ask for a run ``order`` and its results in one request, let the scheduler play it, and return the answer."""
    got: list[httpx.Response] = []
    body = {"dag_run_id": "order", "logical_date": None, "conf": conf}
    ask = threading.Thread(
        target=lambda: got.append(client.post(f"{RUNS}?wait=true&interval=30&result=sell&result=bake", json=body))
    )
    ask.start()
    wait_until(lambda: "order" in service.scheduler.run_states("bakery"), 20)
    service.scheduler.beats()
    ask.join()
    (answer,) = got
    return answer


def test_a_trigger_waits_for_the_end_and_brings_the_result(service: Service, client: httpx.Client) -> None:
    """Case H3: in the same call."""
    answer = answer_awaited(service, client, {"loaves": 4})
    # Told of the end, not found at the next look.
    assert answer.elapsed < timedelta(seconds=20)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    first, *_, last = lines(answer)
    assert first == {"state": "queued", "dag_run_id": "order"}
    assert last == {"state": "success", "results": {"bake": 4, "sell": 4}}
    # Long over: one line at once.
    assert lines(client.get(f"{RUNS}/order/wait?result=bake&result=nobody")) == [
        {"state": "success", "results": {"bake": 4}}
    ]
    assert client.get(f"{RUNS}/nothing/wait").status_code == 404


def test_who_waits_for_a_result_is_told_of_the_failure_as_soon_as_the_run_has_failed(
    service: Service, client: httpx.Client
) -> None:
    """Case H3: failure comes back early, long before the next look."""
    answer = answer_awaited(service, client, {"burns": "sell"})
    assert answer.elapsed < timedelta(seconds=20)
    last = lines(answer)[-1]
    assert (last["state"], last["results"]) == ("failed", {"bake": 10})


def test_xcoms_are_written_changed_and_deleted_as_plain_data(service: Service, client: httpx.Client) -> None:
    """Case F24: a marker of a class is data like any other."""
    client.post(RUNS, json={"dag_run_id": "order", "logical_date": None})
    service.scheduler.beats()
    entries = f"{RUNS}/order/taskInstances/bake/xcomEntries"
    marker = {"$type": "dataclass", "$value": ["os:system", "; id"]}
    made = client.post(entries, json={"key": "note/1", "value": marker})
    assert (made.status_code, made.json()["value"]) == (201, marker)
    assert client.post(entries, json={"key": "note/1", "value": 1}).status_code == 409
    assert client.patch(f"{entries}/note/1", json={"value": [1, "é"]}).json()["value"] == [1, "é"]
    assert client.get(f"{entries}?xcom_key_prefix_pattern=note").json()["total_entries"] == 1
    everywhere = "/api/v2/dags/~/dagRuns/~/taskInstances/~/xcomEntries?limit=3"
    found = client.get(f"{everywhere}&run_id_pattern=ord&run_after_gte=2026-01-15").json()
    told = [(one["task_id"], one["key"]) for one in found["xcom_entries"]]
    assert told == [("sell", "return_value"), ("bake", "return_value"), ("bake", "note/1")]
    assert client.get(f"{everywhere}&order_by=key").status_code == 400
    assert client.delete(f"{entries}/note/1").status_code == 204
    assert client.delete(f"{entries}/note/1").status_code == 404
    assert client.patch(f"{entries}/return_value", json={"value": 1, "map_index": 3}).status_code == 404
    assert client.post(entries, json={"key": SKIPPED_TASKS, "value": []}).status_code == 422
    events = client.get("/api/v2/eventLogs?event_pattern=xcom").json()["event_logs"]
    assert [one["event"] for one in events] == ["delete_xcom", "patch_xcom", "create_xcom"]


@pytest.mark.parametrize("at_once", [1000, 2])
def test_a_dag_is_deleted_at_once_or_in_parts_that_tell_how_far_they_are(
    service: Service, client: httpx.Client, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Case E16."""
    monkeypatch.setattr(dag_deletion, "AT_ONCE", at_once)
    for number in range(3):
        client.post(RUNS, json={"dag_run_id": f"order{number}", "logical_date": None})
    assert client.delete("/api/v2/dags/bakery").status_code == 409
    service.scheduler.beats()
    answer = client.delete("/api/v2/dags/bakery")
    if at_once > 3:
        assert (answer.status_code, answer.json()) == (200, {"dag_id": "bakery", "deleted_runs": 3})
    else:
        assert answer.status_code == 202
        assert lines(answer) == [
            {"deleted_runs": 1, "runs": 3},
            {"deleted_runs": 2, "runs": 3},
            {"deleted_runs": 3, "runs": 3},
            {"deleted_runs": 3, "runs": 3, "done": True},
        ]
    assert client.get("/api/v2/dags/bakery").status_code == 404
    assert service.scheduler.run_states("bakery") == {}
