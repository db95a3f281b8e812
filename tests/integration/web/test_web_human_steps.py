"""Human steps over HTTP: the inbox, one question, its answer, and who may give it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.asking import ask
from tests.support.web import Client

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows

STEP = "/dagRuns/first/taskInstances/fetch/-1/hitlDetails"
INBOX = "/api/v2/dags/~/dagRuns/~/hitlDetails?response_received=false"


@pytest.fixture
def asked(weather: str, database: Database, settings: Settings, clock: ManualClock) -> str:
    """A task that asks, in the first run."""
    form = {"days": {"value": 3, "has_value": True, "schema": {"type": "integer"}, "description": None}}
    with database.begin() as connection:
        ask(connection, settings, clock.now(), params=form, seconds=3600, body="Really?")
    return weather


def test_the_inbox_shows_what_waits_until_it_is_answered_once(
    admin: Client, asked: str, database: Database, clock: ManualClock
) -> None:
    (one,) = admin.json(INBOX)["hitl_details"]
    assert (one["subject"], one["options"], one["response_received"]) == ("Go?", ["yes", "no"], False)
    assert (one["task_instance"]["task_id"], one["task_instance"]["state"]) == ("fetch", "up_for_reschedule")
    assert one["params"]["days"]["value"] == 3
    assert admin.json(f"{INBOX}&subject_search=nothing")["hitl_details"] == []
    wrong = admin.patch(f"{asked}{STEP}", json={"chosen_options": ["maybe"]})
    assert (wrong.status_code, "no option" in wrong.text) == (422, True)
    clock.advance(timedelta(seconds=60))
    given = admin.patch(f"{asked}{STEP}", json={"chosen_options": ["yes"], "params_input": {"days": 5}})
    assert given.status_code == 200, given.text
    assert given.json()["responded_by"]["name"] == "admin"
    late = admin.patch(f"{asked}{STEP}", json={"chosen_options": ["no"]})
    assert (late.status_code, "answered by admin at" in late.text) == (409, True)
    assert admin.json(INBOX)["hitl_details"] == []
    answered = admin.json(f"{asked}{STEP}")
    assert (answered["chosen_options"], answered["params_input"]) == (["yes"], {"days": 5})
    assert admin.json(f"{asked}/dagRuns/first/hitlDetails")["total_entries"] == 1
    with database.begin() as connection:
        (event,) = rows(connection, "SELECT * FROM audit_log WHERE event = 'answer_human_step'")
        assert (event["actor"], event["task_id"], event["detail"]) == ("admin", "fetch", {"chosen": ["yes"]})
        (instance,) = rows(connection, "SELECT next_retry_at FROM task_instance WHERE task_id = 'fetch'")
        assert instance["next_retry_at"] == clock.now()


def test_an_answer_after_the_time_is_refused(admin: Client, asked: str, clock: ManualClock) -> None:
    clock.advance(timedelta(seconds=3601))
    late = admin.patch(f"{asked}{STEP}", json={"chosen_options": ["yes"]})
    assert (late.status_code, "could be answered until" in late.text) == (409, True)


def test_who_is_not_asked_cannot_answer(
    admin: Client, weather: str, database: Database, settings: Settings, clock: ManualClock
) -> None:
    assert admin.get(f"{weather}{STEP}").status_code == 404
    with database.begin() as connection:
        ask(connection, settings, clock.now(), assignees=[{"id": "ann", "name": "admin"}])
    refused = admin.patch(f"{weather}{STEP}", json={"chosen_options": ["yes"]})
    assert (refused.status_code, "asks ann" in refused.text) == (403, True)
