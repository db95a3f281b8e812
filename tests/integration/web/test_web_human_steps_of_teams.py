"""Human steps and clears that markers pass on, of accounts whose rights reach their own team only."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.support.asking import ask
from tests.support.rights import member
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.web import Client, client_of, session_of

from treadle.document import MarkerDocument, TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.rights.teams import create_team
from treadle_metadata.settings import Settings
from treadle_webserver.app import create_app

DATE = datetime(2026, 1, 14, tzinfo=UTC)
INBOX = "/api/v2/dags/~/dagRuns/~/hitlDetails?response_received=false"


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """A team red with a DAG whose marker names a task of blue's; a task of each asks people."""
    made = TestScheduler(database, settings, clock)
    marks = MarkerDocument("blue_dag", "blue_task")
    tell = TaskDocument("tell", operator="ExternalTaskMarker", is_empty=True, marks=marks, upstream=("red_task",))
    made.install(a_dag("red_dag", TaskDocument("red_task"), tell), team="red", file="red/red.py")
    made.install(a_dag("blue_dag", TaskDocument("blue_task")), team="blue", file="blue/blue.py")
    for team in ("red", "blue"):
        made.trigger(f"{team}_dag", run_id="r", logical_date=DATE)
    made.beats()
    with database.begin() as connection:
        for team in ("red", "blue"):
            create_team(connection, team, [team], now=clock.now())
            member(connection, team, "User", now=clock.now())
    return made


def logged_in(client: Client, scheduler: TestScheduler, username: str) -> Client:
    client.token = session_of(scheduler.database, username, scheduler.clock)
    return client


def test_a_member_sees_and_answers_what_its_team_asks_and_nothing_else(
    scheduler: TestScheduler, settings: Settings
) -> None:
    with scheduler.database.begin() as connection:
        for team in ("red", "blue"):
            ask(connection, settings, scheduler.clock.now(), task=f"{team}_task", subject=f"{team}?")
    with client_of(create_app(settings, scheduler.database, clock=scheduler.clock)) as client:
        red = logged_in(client, scheduler, "red_user")
        assert [one["subject"] for one in red.json(INBOX)["hitl_details"]] == ["red?"]
        for team, status in (("blue", 404), ("red", 200), ("red", 409)):
            url = f"/api/v2/dags/{team}_dag/dagRuns/r/taskInstances/{team}_task/-1/hitlDetails"
            answer = red.patch(url, json={"chosen_options": ["yes"]})
            assert answer.status_code == status, answer.text
        assert red.json(INBOX)["hitl_details"] == []


def test_a_clear_is_passed_on_to_what_the_person_may_clear(scheduler: TestScheduler, settings: Settings) -> None:
    body = {
        "dag_run_id": "r",
        "task_ids": ["red_task"],
        "include_downstream": True,
        "only_failed": False,
        "dry_run": True,
    }
    with client_of(create_app(settings, scheduler.database, clock=scheduler.clock)) as client:
        red = logged_in(client, scheduler, "red_user")
        answer = red.post("/api/v2/dags/red_dag/clearTaskInstances", json=body)
        assert answer.status_code == 200, answer.text
        assert {one["task_id"] for one in answer.json()["task_instances"]} == {"red_task", "tell"}
    with scheduler.database.begin() as connection:
        connection.exec_driver_sql("UPDATE account SET role = 'Admin' WHERE username = 'red_user'")
    with client_of(create_app(settings, scheduler.database, clock=scheduler.clock)) as client:
        admin = logged_in(client, scheduler, "red_user")
        answer = admin.post("/api/v2/dags/red_dag/clearTaskInstances", json=body)
        assert {one["task_id"] for one in answer.json()["task_instances"]} == {"red_task", "tell", "blue_task"}
