"""Durable steps over HTTP: journals, steps, what people decide, and the post of an outside party."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.durable import record
from tests.support.web import Client

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows

FETCH = "/dagRuns/first/taskInstances/fetch/steps"


@pytest.fixture
def token(weather: str, database: Database, settings: Settings, clock: ManualClock) -> str:
    """The token of an awakeable of ``fetch``, which failed."""
    with database.begin() as connection:
        return record(connection, settings, clock.now())


def test_journals_and_steps_are_listed_with_values_and_keys(admin: Client, weather: str, token: str) -> None:
    (journal,) = admin.json(f"{weather}/dagRuns/first/steps")["journals"]
    assert (journal["task_id"], journal["steps"], journal["waiting"], journal["plan"]) == ("fetch", 2, 1, "one")
    charge, approval = admin.json(f"{weather}{FETCH}")["steps"]
    assert (charge["name"], charge["state"], charge["value"]) == ("charge", "done", {"receipt": 1})
    assert (approval["kind"], approval["state"], approval["value"]) == ("awakeable", "waiting", None)
    assert len(charge["idempotency_key"]) == 32
    assert token not in admin.get(f"{weather}{FETCH}").text
    assert admin.json(f"{weather}/dagRuns/first/taskInstances/clean/steps?map_index=1") == {
        "steps": [],
        "total_entries": 0,
    }
    assert admin.get(f"{weather}/dagRuns/first/taskInstances/nothing/steps").status_code == 404


def test_an_outside_party_needs_the_token_and_nothing_else(anyone: Client, token: str, clock: ManualClock) -> None:
    for wrong, status in ((None, 401), ("wrong", 401), (token, 200), (token, 409)):
        anyone.token = wrong
        answer = anyone.post("/api/v2/awakeables", json={"payload": {"approved": True}})
        assert answer.status_code == status, answer.text
    assert "posted already" in answer.text
    anyone.token = None
    assert clock.now()


def test_a_late_post_is_refused(anyone: Client, token: str, clock: ManualClock) -> None:
    clock.advance(timedelta(seconds=61))
    anyone.token = token
    answer = anyone.post("/api/v2/awakeables", json={})
    assert (answer.status_code, "could be posted until" in answer.text) == (409, True)


def test_refused_code_is_accepted_or_the_steps_are_discarded(
    admin: Client, weather: str, token: str, database: Database
) -> None:
    assert token
    answer = admin.post(f"{weather}{FETCH}/accept")
    assert (answer.status_code, "nothing to accept" in answer.text) == (409, True)
    with database.begin() as connection:
        execute(connection, "UPDATE durable_journal SET refused_plan = 'two'")
    assert admin.post(f"{weather}{FETCH}/accept").json() == {"plan": "two"}
    assert admin.json(f"{weather}/dagRuns/first/steps")["journals"][0]["plan"] == "two"
    assert admin.post(f"{weather}{FETCH}/discard").json() == {"runs_again": False}
    answer = admin.post(f"{weather}{FETCH}/discard")
    assert (answer.status_code, "has no journal" in answer.text) == (409, True)
    with database.begin() as connection:
        found = rows(connection, "SELECT event FROM audit_log WHERE event LIKE '%%_steps' ORDER BY id")
        assert [row["event"] for row in found] == ["accept_steps", "discard_steps"]
        assert rows(connection, "SELECT state FROM task_instance WHERE task_id = 'fetch'") == [{"state": "none"}]
