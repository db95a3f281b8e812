"""Runs, task instances and clearing over HTTP."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.support.web import Client, add_try, add_xcom

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.runs import trigger_run
from treadle_metadata.statements import rows

TRIGGER = "/api/v2/dags/weather/dagRuns"
FIRST = f"{TRIGGER}/first"
INSTANCES = f"{FIRST}/taskInstances"


def test_a_run_is_triggered_with_all_that_a_person_may_say(admin: Client, weather: str) -> None:
    body = {
        "dag_run_id": "mine",
        "logical_date": "2026-01-10T00:00:00+01:00",
        "data_interval_start": "2026-01-09T00:00:00Z",
        "data_interval_end": "2026-01-10T00:00:00Z",
        "conf": {"city": "Ulm"},
        "note": "again",
    }
    answer = admin.post(TRIGGER, json=body)
    assert answer.status_code == 200, answer.text
    run = answer.json()
    assert run["dag_run_id"] == "mine"
    assert run["logical_date"] == "2026-01-09T23:00:00Z"
    assert run["data_interval_start"] == "2026-01-09T00:00:00Z"
    assert (run["state"], run["run_type"], run["triggered_by"]) == ("queued", "manual", "rest_api")
    assert (run["triggering_user_name"], run["conf"], run["note"]) == ("admin", {"city": "Ulm"}, "again")
    assert run["dag_versions"][0]["version_number"] == 1
    assert (run.pop("conf_warnings"), admin.json(f"{TRIGGER}/mine")) == ([], run)


def test_a_run_needs_nothing_but_its_dag(admin: Client, weather: str) -> None:
    run = admin.post(TRIGGER, json={}).json()
    assert run["dag_run_id"].startswith("manual__2026-01-15T12:00:00+00:00")
    assert run["logical_date"] is None
    assert admin.json(f"{TRIGGER}/{run['dag_run_id']}")["run_after"] == "2026-01-15T12:00:00Z"


def test_a_run_wakes_the_schedulers(admin: Client, weather: str, database: Database) -> None:
    listening = database.listen()
    try:
        admin.post(TRIGGER, json={})
        assert [one.channel for one in listening.notifies(timeout=5, stop_after=1)] == ["treadle_wake"]
    finally:
        listening.close()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"dag_run_id": "first"}, 409),
        ({"dag_run_id": "$(touch /tmp/pwn)"}, 422),
        ({"dag_run_id": "{{ 7*7 }}"}, 422),
        ({"dag_run_id": "../../x"}, 422),
        ({"dag_run_id": "."}, 422),
        ({"dag_run_id": "~"}, 422),
        ({"dag_run_id": "a/b"}, 422),
        ({"dag_run_id": "x" * 10_000}, 422),
        ({"dag_run_id": "\N{GRINNING FACE}"}, 422),
        ({"dag_run_id": "a\0b"}, 422),
        ({"dag_run_id": ""}, 422),
        ({"dag_run_id": "scheduled__2026-01-01T00:00:00+00:00"}, 422),
        ({"dag_run_id": 7}, 422),
        ({"unknown": 1}, 422),
        ({"logical_date": "2026-01-01T00:00:00"}, 422),
        ({"logical_date": "yesterday"}, 422),
        ({"data_interval_start": "2026-01-01T00:00:00Z"}, 422),
        ({"conf": [1]}, 422),
        ({"conf": {"a": "\0"}}, 422),
        ({"note": "n" * 1001}, 422),
        ({"note": "a\0b"}, 422),
        ([], 422),
    ],
)
def test_a_bad_trigger_is_refused_and_makes_nothing(
    admin: Client, weather: str, body: Any, status: int, database: Database
) -> None:
    answer = admin.post(TRIGGER, json=body)
    assert answer.status_code == status, answer.text
    assert len(answer.text) < 2000
    assert answer.json()["detail"]
    with database.begin() as connection:
        assert len(rows(connection, "SELECT 1 FROM dag_run")) == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b'{"note": "\\ud800"}', b'{"conf": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001]
)
def test_a_body_that_is_no_json_is_refused(admin: Client, weather: str, content: bytes) -> None:
    answer = admin.post(TRIGGER, content=content, headers={"Content-Type": "application/json"})
    assert 400 <= answer.status_code < 500, answer.text[:200]


BAD_IDS = (
    "%00",
    "a%00b",
    "x" * 10_000,
    "..%2f..%2fetc",
    "%2e%2e%2fx",
    "..",
    "%F0%9F%98%80",
    "%ff%fe",
    "%0a",
    "'; DROP TABLE dag;--",
    "~~",
    "%25",
)


@pytest.mark.parametrize(
    "url",
    [
        "/api/v2/dags/{}",
        "/api/v2/dags/{}/dagRuns",
        "/api/v2/dags/weather/dagRuns/{}",
        "/api/v2/dags/weather/dagRuns/first/taskInstances/{}",
        "/api/v2/dags/weather/dagRuns/first/taskInstances/fetch/{}",
        "/api/v2/dags/weather/dagRuns/first/taskInstances/fetch/logs/{}",
        "/api/v2/dags/weather/dagRuns/first/taskInstances/fetch/xcomEntries/{}",
        "/api/v2/pools/{}",
        "/api/v2/variables/{}",
        "/api/v2/connections/{}",
        "/api/v2/backfills/{}",
        "/api/v2/dagSources/{}",
    ],
)
def test_a_bad_id_in_the_address_is_not_found_or_refused(admin: Client, weather: str, url: str) -> None:
    for bad in BAD_IDS:
        answer = admin.get(url.format(bad))
        # "..": the client resolves it before it sends, so another page answers.
        expected = {404, 422, 200, 405} if bad == ".." else {404, 422}
        assert answer.status_code in expected, (bad, answer.text[:300])
        assert len(answer.text) < 5000, bad


BAD_QUERIES = (
    "cursor=!!!",
    "cursor=W10",
    "cursor=" + "A" * 3000,
    "limit=-1",
    "limit=x",
    "offset=99999999999999999999",
    "offset=100001",
    "state=nonsense",
    "state=%00",
    "run_id_pattern=%00",
    "unknown=1",
    "run_after_gte=2026-01-01T00:00:00",
    "run_after_gte=now",
    "dag_version=99999999999999",
)


def test_a_bad_query_is_refused(admin: Client, weather: str) -> None:
    answers = {query: admin.get(f"{TRIGGER}?{query}").status_code for query in BAD_QUERIES}
    assert answers == dict.fromkeys(BAD_QUERIES, 422)


def test_an_order_without_an_index_is_refused_with_those_that_have_one(admin: Client, weather: str) -> None:
    for order in ("password_hash", "-duration", "start_date"):
        answer = admin.get(f"{TRIGGER}?order_by={order}")
        assert (answer.status_code, "expected one of dag_run_id, logical_date, run_after" in answer.text) == (400, True)
    assert admin.get("/api/v2/dags/~/dagRuns?order_by=logical_date").status_code == 400


@pytest.fixture
def ten_runs(weather: str, database: Database, clock: ManualClock) -> None:
    """Ten more runs r0 to r9, one hour apart; r3 has failed."""
    with database.begin() as connection:
        for number in range(10):
            clock.advance(timedelta(hours=1))
            conf = {"hot": True} if number == 9 else None
            trigger_run(connection, "weather", run_id=f"r{number}", conf=conf, now=clock.now())
        connection.exec_driver_sql("UPDATE dag_run SET state = 'failed', ended_at = queued_at WHERE run_id = 'r3'")


def ids(answer: dict[str, Any]) -> list[str]:
    """Return the run ids of a list."""
    return [run["dag_run_id"] for run in answer["dag_runs"]]


LISTS = {
    "limit=3": ["r9", "r8", "r7"],
    "limit=2&offset=2": ["r7", "r6"],
    "limit=2&order_by=run_after": ["first", "r0"],
    "state=failed": ["r3"],
    "state=failed&state=running": ["r3"],
    "run_after_gte=2026-01-15T21:00:00Z": ["r9", "r8"],
    "run_after_gt=2026-01-15T21:00:00Z": ["r9"],
    "run_after_lt=2026-01-15T14:00:00Z": ["r0", "first"],
    # A bare date is a whole day, and what comes later that day belongs to it.
    "run_after_lte=2026-01-15&limit=1": ["r9"],
    "run_after_gt=2026-01-15": [],
    "run_after_gte=2026-01-15&limit=1": ["r9"],
    "run_after_lt=2026-01-15": [],
    "duration_gte=0": [],
    "end_date_gte=2026-01-15&end_date_lte=2026-01-15": ["r3"],
    "updated_at_gt=2026-01-15T21:30:00Z": ["r9"],
    'conf_contains={"hot": true}': ["r9"],
    "conf_contains=HOT": ["r9"],
    "triggering_user_name_prefix_pattern=ann": [],
    "partition_date_gte=2026-01-01": [],
    "consuming_asset_pattern=x": [],
    "dag_id_prefix_pattern=wea&limit=1": ["r9"],
    "run_id_pattern=irs": ["first"],
    "run_id_prefix_pattern=r&limit=1": ["r9"],
    "run_type=scheduled": [],
    "dag_version=1&limit=1": ["r9"],
    "dag_version=2": [],
}


@pytest.mark.parametrize("dag_id", ["weather", "~"])
def test_runs_are_listed_filtered_and_ordered(admin: Client, ten_runs: None, dag_id: str) -> None:
    listed = {query: ids(admin.json(f"/api/v2/dags/{dag_id}/dagRuns?{query}")) for query in LISTS}
    assert listed == LISTS


def test_runs_of_a_dag_are_ordered_by_name_and_date(admin: Client, ten_runs: None) -> None:
    assert ids(admin.json(f"{TRIGGER}?limit=2&order_by=-run_id")) == ["r9", "r8"]
    walked = admin.json(f"{TRIGGER}?limit=9&order_by=-logical_date&cursor=")
    rest = admin.json(f"{TRIGGER}?limit=9&order_by=-logical_date&cursor={walked['next_cursor']}")
    assert sorted(ids(walked) + ids(rest)) == sorted(["first", *(f"r{n}" for n in range(10))])


def test_a_walk_by_cursor_sees_every_run_once_while_others_are_added(
    admin: Client, ten_runs: None, database: Database, clock: ManualClock
) -> None:
    seen: list[str] = []
    page = admin.json(f"{TRIGGER}?limit=4&cursor=")
    assert page["total_entries"] is None
    assert page["previous_cursor"] is None
    while True:
        seen += ids(page)
        clock.advance(timedelta(hours=1))
        with database.begin() as connection:
            trigger_run(connection, "weather", now=clock.now())
        if page["next_cursor"] is None:
            break
        last, page = page, admin.json(f"{TRIGGER}?limit=4&cursor={page['next_cursor']}")
        assert ids(admin.json(f"{TRIGGER}?limit=4&cursor={page['previous_cursor']}")) == ids(last)
    assert seen == [*(f"r{number}" for number in range(9, -1, -1)), "first"]


def test_a_cursor_of_another_order_is_refused(admin: Client, ten_runs: None) -> None:
    cursor = admin.json(f"{TRIGGER}?limit=4&cursor=")["next_cursor"]
    assert admin.get(f"{TRIGGER}?cursor={cursor}&order_by=run_id").status_code == 422


def test_a_run_is_marked_noted_and_deleted(admin: Client, weather: str) -> None:
    assert admin.delete(FIRST).status_code == 409
    answer = admin.patch(FIRST, json={"state": "failed", "note": "no rain data"})
    assert (answer.json()["state"], answer.json()["note"]) == ("failed", "no rain data")
    states = {one["state"] for one in admin.json(INSTANCES)["task_instances"]}
    assert states == {"skipped"}
    assert admin.patch(FIRST, json={"state": "failed"}).status_code == 409
    assert admin.patch(FIRST, json={"state": "running"}).status_code == 422
    assert admin.patch(f"{FIRST}?update_mask=note", json={"state": "success", "note": None}).json()["state"] == "failed"
    assert admin.delete(FIRST).status_code == 204
    assert admin.get(FIRST).status_code == 404
    events = [event["event"] for event in admin.json("/api/v2/eventLogs?run_id=first")["event_logs"]]
    assert events == ["delete_dag_run", "patch_dag_run", "patch_dag_run"]


def test_deleting_a_run_takes_all_its_rows(admin: Client, weather: str, database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        add_try(connection, "weather", "first", "fetch", "x.jsonl", now=clock.now())
        add_xcom(connection, "weather", "first", "fetch", "return_value", "1", now=clock.now())
    admin.patch(FIRST, json={"state": "success"})
    admin.delete(FIRST)
    with database.begin() as connection:
        for table in ("dag_run", "task_instance", "task_attempt", "xcom", "run_wakeup"):
            assert rows(connection, f"SELECT 1 FROM {table}") == [], table


def test_task_instances_of_a_run_are_listed_by_task_and_index(admin: Client, weather: str) -> None:
    answer = admin.json(INSTANCES)
    assert [(one["task_id"], one["map_index"]) for one in answer["task_instances"]] == [
        ("clean", 0),
        ("clean", 1),
        ("clean", 2),
        ("fetch", -1),
    ]
    assert answer["total_entries"] == 4
    first = answer["task_instances"][0]
    assert (first["state"], first["dag_run_id"], first["executor_config"]) == (None, "first", "{}")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("task_id=clean", 3),
        ("state=none", 4),
        ("state=failed", 0),
        ("map_index=1", 1),
        ("pool=other", 0),
        ("limit=2", 2),
    ],
)
@pytest.mark.parametrize(
    "path", [INSTANCES, "/api/v2/dags/weather/dagRuns/~/taskInstances", "/api/v2/dags/~/dagRuns/~/taskInstances"]
)
def test_task_instances_are_filtered(admin: Client, weather: str, path: str, query: str, expected: int) -> None:
    assert len(admin.json(f"{path}?{query}")["task_instances"]) == expected


@pytest.mark.parametrize("path", [INSTANCES, "/api/v2/dags/~/dagRuns/~/taskInstances"])
def test_task_instances_are_walked_by_cursor(admin: Client, weather: str, path: str) -> None:
    seen, cursor = [], ""
    while cursor is not None:
        page = admin.json(f"{path}?limit=1&cursor={cursor}")
        seen += [one["id"] for one in page["task_instances"]]
        cursor = page["next_cursor"]
    assert len(seen) == len(set(seen)) == 4


def test_one_instance_of_a_mapped_task_is_named_by_its_index(admin: Client, weather: str) -> None:
    assert admin.json(f"{INSTANCES}/clean/2")["map_index"] == 2
    assert admin.json(f"{INSTANCES}/fetch")["map_index"] == -1
    mapped = admin.get(f"{INSTANCES}/clean")
    assert mapped.status_code == 409
    assert "mapped into 3 instances" in mapped.json()["detail"]
    assert admin.get(f"{INSTANCES}/clean/3").status_code == 404
    assert admin.get(f"{INSTANCES}/cleen").json()["detail"].endswith("did you mean 'clean'?")
    assert len(admin.json(f"{INSTANCES}/clean/listMapped")["task_instances"]) == 3
    assert admin.get(f"{INSTANCES}/nothing/listMapped").status_code == 404


def test_an_instance_is_marked_and_noted(admin: Client, weather: str) -> None:
    one = admin.patch(f"{INSTANCES}/clean/1", json={"new_state": "success", "note": "by hand"}).json()
    assert [(row["map_index"], row["state"], row["note"]) for row in one["task_instances"]] == [
        (1, "success", "by hand")
    ]
    every = admin.patch(f"{INSTANCES}/clean", json={"new_state": "skipped"}).json()
    assert {row["state"] for row in every["task_instances"]} == {"skipped"}
    assert admin.patch(f"{INSTANCES}/clean", json={}).status_code == 422
    assert admin.patch(f"{INSTANCES}/clean", json={"new_state": "running"}).status_code == 422
    assert admin.patch(f"{INSTANCES}/clean", json={"new_state": "failed", "include_all": True}).status_code == 422
    assert admin.patch(f"{INSTANCES}/nothing", json={"note": "x"}).status_code == 404


def test_clearing_shows_first_and_then_clears_the_same(admin: Client, weather: str) -> None:
    admin.patch(f"{INSTANCES}/clean", json={"new_state": "failed"})
    admin.patch(f"{INSTANCES}/fetch", json={"new_state": "success"})
    url = f"{weather}/clearTaskInstances"
    body = {"dag_run_id": "first", "task_ids": [["clean", 1]]}
    shown = admin.post(url, json=body).json()
    assert [(one["task_id"], one["map_index"], one["state"]) for one in shown["task_instances"]] == [
        ("clean", 1, "failed")
    ]
    assert admin.json(f"{INSTANCES}/clean/1")["state"] == "failed"
    done = admin.post(url, json=body | {"dry_run": False}).json()
    assert [(one["map_index"], one["state"]) for one in done["task_instances"]] == [(1, None)]
    assert admin.json(f"{INSTANCES}/clean/2")["state"] == "failed"
    down = {"dag_run_id": "first", "task_ids": ["fetch"], "include_downstream": True, "only_failed": False}
    assert admin.post(url, json=down).json()["total_entries"] == 3
    assert admin.post(url, json={"task_ids": ["nothing"]}).status_code == 422
    assert admin.post(url, json={"dag_run_id": "nothing"}).status_code == 404
    assert admin.post(url, json={"only_running": True}).status_code == 422


def test_a_clear_that_is_to_spare_what_runs_changes_nothing_at_all_if_something_does(
    admin: Client, weather: str, database: Database, clock: ManualClock
) -> None:
    admin.patch(f"{INSTANCES}/clean", json={"new_state": "success"})
    with database.begin() as connection:
        add_try(connection, "weather", "first", "fetch", "x.jsonl", now=clock.now())
    body = {"dag_run_id": "first", "only_failed": False, "prevent_running_task": True}
    for dry_run in (True, False):
        answer = admin.post(f"{weather}/clearTaskInstances", json=body | {"dry_run": dry_run})
        assert (answer.status_code, "task 'fetch' of run 'first' is running" in answer.text) == (409, True)
    assert {one["state"] for one in admin.json(INSTANCES)["task_instances"]} == {"running", "success"}
    assert admin.post(f"{weather}/clearTaskInstances", json=body | {"task_ids": ["clean"]}).json()["total_entries"] == 3


def test_clearing_a_run_reopens_it(admin: Client, weather: str) -> None:
    admin.patch(FIRST, json={"state": "failed"})
    assert admin.post(f"{FIRST}/clear", json={}).json()["total_entries"] == 4
    assert admin.json(FIRST)["state"] == "failed"
    admin.post(f"{FIRST}/clear", json={"dry_run": False})
    assert admin.json(FIRST)["state"] == "queued"


def test_waiting_for_a_finished_run_ends_at_once(admin: Client, weather: str) -> None:
    admin.patch(FIRST, json={"state": "success"})
    answer = admin.get(f"{FIRST}/wait?interval=0.05")
    assert [json.loads(line) for line in answer.text.splitlines()] == [{"state": "success"}]
    assert admin.get(f"{TRIGGER}/nothing/wait").status_code == 404
