"""The web application on a socket, a scheduler behind it, and the official client of Airflow's API that drives both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from airflow_client.client import ApiClient, Configuration
from fastapi import FastAPI
from tests.integration.web.conftest import add_account
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.served import served
from tests.support.web import Client, client_of, session_of
from tests.support.web_database import web_database

from treadle.document import DagDocument, ParamDocument, ScheduleDocument, TaskDocument
from treadle_metadata.accounts import Role
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_webserver.app import create_app
from treadle_worker.protocol import Workload

__all__ = ["web_database"]
"""What is a fixture here without being made here."""

Api = TypeVar("Api")

BAKERY = a_dag(
    "bakery",
    TaskDocument("bake", operator="PythonOperator", retries=1, retry_delay_seconds=0),
    TaskDocument("sell", operator="PythonOperator", upstream=("bake",)),
    params=(ParamDocument("loaves", 10, schema={"type": "integer", "minimum": 1}),),
    schedule=ScheduleDocument(kind="cron", expressions=("0 6 * * *",), summary="0 6 * * *"),
    start_date="2026-01-01T00:00:00+00:00",
    description="Bakes and sells",
)


@dataclass(frozen=True, slots=True)
class Service:
    """The address of the API, a token for it, and the scheduler that works on what is asked of it."""

    url: str
    token: str
    scheduler: TestScheduler

    def api(self, kind: type[Api]) -> Api:
        """Return one of the client's classes of operations."""
        return kind(ApiClient(Configuration(host=self.url, access_token=self.token)))  # type: ignore[call-arg]


@pytest.fixture
def service(settings: Settings, database: Database, clock: ManualClock) -> Iterator[Service]:
    """The service with DAG ``bakery``; its tasks log a line, and return the loaves of their run's conf."""

    def outcome(workload: Workload) -> dict[str, Any]:
        conf = workload["run"]["conf"]
        path = settings.path("logs_folder") / workload["log_path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        line = {"time": clock.now().isoformat(), "level": "info", "source": "task", "text": f"{workload['task_id']}!"}
        path.write_text(json.dumps(line) + "\n")
        if conf.get("burns") == workload["task_id"] and workload["try_number"] == 1:
            return {"outcome": "failed", "error": {"kind": "exception", "type": "ValueError", "message": "burnt"}}
        return {
            "outcome": "success",
            "xcoms": [{"key": "return_value", "value": str(conf.get("loaves", 10)), "length": None}],
        }

    scheduler = TestScheduler(database, settings, clock, outcome)
    install_bakery(scheduler)
    username = add_account(database, Role.ADMIN, clock)
    app = create_app(settings, database, clock=clock)
    token = session_of(database, username, clock)
    with served(app) as url:
        yield Service(url, token, scheduler)


def install_bakery(scheduler: TestScheduler, document: DagDocument = BAKERY) -> None:
    """Store the DAG, with an owner and tags."""
    scheduler.install(document, tags=["food", "daily"], owners=["ann"], description=document.description)


@pytest.fixture
def app(settings: Settings, database: Database, clock: ManualClock) -> FastAPI:
    """The application, in the test's own process."""
    return create_app(settings, database, clock=clock)


@pytest.fixture
def admin(app: FastAPI, database: Database, clock: ManualClock) -> Iterator[Client]:
    """A client of the application that is logged in as an Admin."""
    username = add_account(database, Role.ADMIN, clock)
    with client_of(app) as client:
        client.token = session_of(database, username, clock)
        yield client
