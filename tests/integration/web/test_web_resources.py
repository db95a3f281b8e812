"""Pools, variables, connections, backfills, import errors and the audit log over HTTP (cases F8, F9)."""

from __future__ import annotations

import json

import pytest
from tests.support.web import Client, move

from treadle_metadata import resources
from treadle_metadata.audit import masked
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows

CANARY = 'c4n4ry"p@ss'


def test_a_pool_is_made_changed_and_deleted(admin: Client) -> None:
    body = {"name": "gpu", "slots": 4, "description": "two cards"}
    made = admin.post("/api/v2/pools", json=body)
    assert made.status_code == 201
    assert (made.json()["open_slots"], made.json()["occupied_slots"]) == (4, 0)
    twice = admin.post("/api/v2/pools", json=body)
    assert twice.status_code == 409
    # Forms tell it at the field that it is about.
    assert [(one["loc"], one["msg"]) for one in twice.json()["errors"]] == [(["body", "name"], twice.json()["detail"])]
    changed = admin.patch("/api/v2/pools/gpu", json={"slots": -1}).json()
    assert (changed["slots"], changed["description"], changed["open_slots"]) == (-1, "two cards", None)
    assert admin.delete("/api/v2/pools/gpu").status_code == 204
    assert admin.delete("/api/v2/pools/gpu").status_code == 404
    assert admin.delete("/api/v2/pools/default_pool").status_code == 409
    assert admin.post("/api/v2/pools", json={"name": "x", "slots": -2}).status_code == 422
    assert admin.post("/api/v2/pools", json={"name": " ", "slots": 1}).status_code == 422
    assert admin.post("/api/v2/pools", json={"name": "x", "slots": 1, "colour": 1}).status_code == 422


def test_a_pool_tells_its_use_and_cannot_go_while_used(admin: Client, weather: str, database: Database) -> None:
    admin.post("/api/v2/pools", json={"name": "gpu", "slots": 4, "include_deferred": True})
    with database.begin() as connection:
        execute(connection, "UPDATE task_instance SET pool = 'gpu', pool_slots = greatest(map_index, 1)")
        move(connection, "map_index >= 0", "scheduled")
        move(connection, "map_index >= 1", "queued", "running")
        move(connection, "map_index = 2", "deferred")
    pool = admin.json("/api/v2/pools/gpu")
    slots = {name: pool[f"{name}_slots"] for name in ("running", "scheduled", "deferred", "occupied", "open")}
    assert slots == {"running": 1, "scheduled": 1, "deferred": 2, "occupied": 3, "open": 1}
    assert admin.delete("/api/v2/pools/gpu").status_code == 409


def test_a_variable_is_made_changed_and_deleted(admin: Client) -> None:
    made = admin.post("/api/v2/variables", json={"key": "city/home", "value": {"name": "Ulm"}, "description": "d"})
    assert made.status_code == 201
    assert json.loads(made.json()["value"]) == {"name": "Ulm"}
    assert admin.post("/api/v2/variables", json={"key": "city/home", "value": "x"}).status_code == 409
    changed = admin.patch("/api/v2/variables/city/home", json={"key": "city/home", "value": "Bonn"}).json()
    assert (changed["value"], changed["description"]) == ("Bonn", "d")
    assert admin.json("/api/v2/variables?variable_key_pattern=city")["total_entries"] == 1
    assert admin.patch("/api/v2/variables/city/home", json={"key": "other", "value": "x"}).status_code == 422
    assert admin.patch("/api/v2/variables/other", json={"key": "other", "value": "x"}).status_code == 404
    assert admin.delete("/api/v2/variables/city/home").status_code == 204
    assert admin.delete("/api/v2/variables/city/home").status_code == 404
    assert admin.post("/api/v2/variables", json={"key": "a\0", "value": "x"}).status_code == 422
    assert admin.post("/api/v2/variables", json={"key": "a", "value": "x\0"}).status_code == 422


def test_a_connections_secrets_never_come_back(admin: Client, database: Database) -> None:
    body = {
        "connection_id": "shop_db",
        "conn_type": "postgres",
        "host": "db",
        "schema": "shop",
        "login": "ann",
        "password": CANARY,
        "port": 5432,
        "extra": json.dumps({"key": CANARY}),
    }
    answers = [
        admin.post("/api/v2/connections", json=body),
        admin.post("/api/v2/connections", json=body),
        admin.get("/api/v2/connections/shop_db"),
        admin.get("/api/v2/connections"),
        admin.patch("/api/v2/connections/shop_db", json={"connection_id": "shop_db", "conn_type": "mysql"}),
        admin.post("/api/v2/connections", json=body | {"port": CANARY}),
        admin.post("/api/v2/connections", json=body | {"connection_id": "x", "extra": f"not json {CANARY}"}),
        admin.post("/api/v2/variables", json={"key": "api_token", "value": CANARY}),
        admin.get("/api/v2/variables/api_token"),
        admin.get("/api/v2/variables"),
        admin.get("/api/v2/eventLogs"),
    ]
    assert [answer.status_code for answer in answers] == [201, 409, 200, 200, 200, 422, 422, 201, 200, 200, 200]
    assert [answer.text for answer in answers if "c4n4ry" in answer.text] == []
    assert answers[2].json()["password"] == "***"
    with database.begin() as connection:
        stored = [
            str(dict(row))
            for table in ("connection", "variable", "audit_log")
            for row in rows(connection, f"SELECT * FROM {table}")
        ]
    assert stored
    assert not any("c4n4ry" in row for row in stored)


def test_changing_a_connection_keeps_what_is_not_given(admin: Client, database: Database, settings: Settings) -> None:
    crypto = Crypto.of_setting(settings.fernet_key)
    with database.begin() as connection:
        fields = {"conn_type": "postgres", "host": "db", "password": CANARY, "extra": '{"a": 1}'}
        resources.set_connection(connection, "shop_db", fields, crypto=crypto)
    body = {"connection_id": "shop_db", "conn_type": "postgres", "host": "new", "password": "***"}
    assert admin.patch("/api/v2/connections/shop_db", json=body).json()["host"] == "new"
    with database.begin() as connection:
        stored = resources.find_connection(connection, "shop_db", crypto=crypto)
    assert stored is not None
    assert (stored["password"], stored["extra"], stored["host"]) == (CANARY, '{"a": 1}', "new")


@pytest.mark.parametrize(
    "change",
    [
        {"connection_id": "../x"},
        {"connection_id": ""},
        {"connection_id": "a b"},
        {"conn_type": ""},
        {"port": 70000},
        {"extra": "[1]"},
        {"host": "a\0b"},
        {"unknown": 1},
    ],
)
def test_a_bad_connection_is_refused(admin: Client, change: dict[str, object]) -> None:
    body = {"connection_id": "shop_db", "conn_type": "postgres"}
    assert admin.post("/api/v2/connections", json=body | change).status_code == 422


def test_exports_can_be_imported_again(database: Database, settings: Settings) -> None:
    crypto = Crypto.of_setting(settings.fernet_key)
    with database.begin() as connection:
        resources.import_variables(
            connection, {"a": "text", "b": {"x": 1}, "c": {"value": "v", "description": "d"}}, crypto=crypto
        )
        variables = resources.export_variables(connection, crypto=crypto)
        assert variables == {"a": "text", "b": '{"x": 1}', "c": {"value": "v", "description": "d"}}
        uri = "my-type://ann:p%40ss@db:5432/shop?timeout=3"
        resources.import_connections(
            connection, {"one": uri, "two": {"conn_type": "fs", "extra": {"path": "/"}}}, crypto=crypto
        )
        connections = resources.export_connections(connection, crypto=crypto)
        assert connections["one"] == {
            "conn_type": "my_type", "host": "db", "schema": "shop", "login": "ann", "password": "p@ss", "port": 5432,
            "extra": '{"timeout": "3"}',
        }  # fmt: skip
        resources.import_pools(connection, {"gpu": {"slots": 3}})
        pools = resources.export_pools(connection)
        assert resources.import_variables(connection, variables, crypto=crypto) == ["a", "b", "c"]
        assert resources.import_connections(connection, connections, crypto=crypto) == ["one", "two"]
        assert "gpu" in resources.import_pools(connection, pools)
        assert resources.export_variables(connection, crypto=crypto) == variables
        assert resources.export_connections(connection, crypto=crypto) == connections
        assert resources.export_pools(connection) == pools
        with pytest.raises(InvalidRequestError, match="integer 'slots'"):
            resources.import_pools(connection, {"gpu": 3})


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_backfill_is_previewed_made_paused_and_cancelled(admin: Client, weather: str, version: str) -> None:
    body = {"dag_id": "weather", "from_date": "2026-01-05", "to_date": "2026-01-07"}
    preview = admin.post("/api/v2/backfills/dry_run", json=body).json()
    assert [one["action"] for one in preview["backfills"]] == ["create"] * preview["total_entries"]
    made = admin.post(f"/api/{version}/backfills", json=body)
    assert made.status_code == 200, made.text
    url = f"/api/v2/backfills/{made.json()['id']}"
    assert made.json()["from_date"] == "2026-01-05T00:00:00Z"
    assert admin.post("/api/v2/backfills", json=body).status_code == 409
    assert admin.request("PUT", f"{url}/pause").json()["is_paused"] is True
    assert admin.request("PUT", f"{url}/unpause").json()["is_paused"] is False
    assert admin.request("PUT", f"{url}/cancel").json()["completed_at"] == "2026-01-15T12:00:00Z"
    assert admin.request("PUT", f"{url}/cancel").status_code == 404
    assert admin.json("/api/v2/backfills?dag_id=weather")["backfills"] == [admin.json(url)]
    assert admin.json("/api/v2/backfills?active=true")["backfills"] == []


def test_import_errors_and_warnings_are_listed(
    admin: Client, weather: str, database: Database, clock: ManualClock
) -> None:
    with database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO import_error (file, line, message, stacktrace, occurred_at)
            VALUES ('bad.py', 3, 'SyntaxError', 'Traceback', %(now)s)
            """,
            {"now": clock.now()},
        )
        execute(
            connection,
            "INSERT INTO dag_warning (dag_id, kind, message, noticed_at) VALUES ('weather', 'pool', 'none', %(now)s)",
            {"now": clock.now()},
        )
    (error,) = admin.json("/api/v2/importErrors")["import_errors"]
    assert (error["filename"], error["line"], error["stack_trace"]) == ("bad.py", 3, "SyntaxError\n\nTraceback")
    assert admin.json(f"/api/v2/importErrors/{error['import_error_id']}") == error
    (warning,) = admin.json("/api/v2/dagWarnings?dag_id=weather")["dag_warnings"]
    assert (warning["warning_type"], warning["message"]) == ("pool", "none")


def test_the_audit_log_is_filtered(admin: Client, weather: str) -> None:
    admin.post(f"{weather}/dagRuns", json={"dag_run_id": "x", "conf": {"password": CANARY, "city": "Ulm"}})
    (event,) = admin.json("/api/v2/eventLogs?event=trigger_dag_run")["event_logs"]
    assert json.loads(event["extra"]) == {"conf": {"password": "***", "city": "Ulm"}}
    assert admin.json(f"/api/v2/eventLogs/{event['event_log_id']}") == event
    assert admin.json("/api/v2/eventLogs?excluded_events=login&owner=admin")["total_entries"] == 1
    assert admin.json("/api/v2/eventLogs?before=2026-01-01T00:00:00Z")["total_entries"] == 0
    assert admin.get("/api/v2/eventLogs/99").status_code == 404


def test_masking_goes_by_name_at_any_depth() -> None:
    given = {"a": [{"api-key": "x", "Authorization": "y"}], "client_secret": "z", "passwd": None, "compass": "north"}
    assert masked(given) == {
        "a": [{"api-key": "***", "Authorization": "***"}],
        "client_secret": "***",
        "passwd": None,
        "compass": "north",
    }
