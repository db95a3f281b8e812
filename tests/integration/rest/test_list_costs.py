"""Every list is one or two statements beside the check of who asks, and reads an index: cases E14, E1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from tests.integration.rest.conftest import Service
from tests.support.statements import recorded_statements
from tests.support.web import Client, client_of

from treadle_metadata.connection import Database

RUN = "dags/bakery/dagRuns/order"
BAKE = f"{RUN}/taskInstances/bake"

LISTS = {
    "dags": 1,
    "dags?tags=food&owners=ann&paused=false&last_dag_run_state=success&dag_run_state=success": 1,
    "dagTags": 1,
    "dagStats?dag_ids=bakery": 1,
    "dagWarnings": 1,
    "importErrors": 1,
    "dags/bakery/dagRuns?state=success&conf_contains=x": 2,
    "dags/~/dagRuns": 1,
    "dags/~/dagRuns?state=running&state=queued": 1,
    "dags/bakery/dagVersions": 2,
    f"{RUN}/taskInstances": 3,
    "dags/~/dagRuns/~/taskInstances?state=failed": 1,
    f"{BAKE}/listMapped": 2,
    f"{BAKE}/tries": 3,
    f"{BAKE}/xcomEntries": 2,
    # With what waits in sensors.
    "pools": 3,
    "variables": 1,
    "connections": 1,
    "backfills": 1,
    "assets": 1,
    "assets/events": 1,
    "eventLogs": 1,
    "eventLogs?event_pattern=x&dag_id=bakery": 1,
    "jobs": 1,
}
"""What each list costs. Those of a DAG or a run look these up first: what is not there is 404, not an empty list."""


@pytest.fixture
def bakery(service: Service, app: FastAPI) -> Iterator[Client]:
    """A client of the service, which has a finished run."""
    with client_of(app) as client:
        client.token = service.token
        client.post("/api/v2/dags/bakery/dagRuns", json={"dag_run_id": "order", "logical_date": None})
        service.scheduler.beats()
        yield client


def test_each_list_is_one_or_two_statements(bakery: Client, database: Database) -> None:
    costs: dict[str, int] = {}
    for query in LISTS:
        bakery.json(f"/api/v2/{query}")
        with recorded_statements(database) as seen:
            bakery.json(f"/api/v2/{query}")
        costs[query] = sum("FROM" in statement for statement, _ in seen) - _of_login(seen)
    assert costs == LISTS


def _of_login(seen: list[tuple[str, Any]]) -> int:
    return sum("login_session" in statement or "api_token" in statement for statement, _ in seen)
