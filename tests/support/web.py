"""An HTTP client for the web application in the test's own process, and rows for it to show."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, LiteralString
from uuid import uuid4

import httpx
from fastapi import FastAPI
from sqlalchemy import Connection

from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database
from treadle_metadata.rights.credentials import open_session
from treadle_metadata.runs import find_run
from treadle_metadata.statements import execute
from treadle_metadata.transitions.instances import insert_instances

PASSWORD = "correct horse battery"

LOGS_DAG = DagDocument(
    dag_id="weather",
    description="Fetches and cleans",
    tags=("daily", "demo"),
    owners=("ann",),
    schedule=ScheduleDocument(kind="cron", expressions=("0 6 * * *",), summary="0 6 * * *"),
    start_date="2026-01-01T00:00:00+00:00",
    tasks=(
        TaskDocument(task_id="fetch", operator="PythonOperator", retries=2),
        TaskDocument(task_id="clean", operator="PythonOperator", upstream=("fetch",)),
    ),
)


class Client:
    """Sends requests to ``app`` one after another; a handler's exception becomes the answer that a user would get."""

    def __init__(self, app: FastAPI, runner: asyncio.Runner) -> None:
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._runner = runner
        self.token: str | None = None

    def request(self, method: str, url: str, **arguments: Any) -> httpx.Response:
        """Send a request, with the token if there is one."""
        headers = dict(arguments.pop("headers", None) or {})
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        return self._runner.run(self._send(method, url, headers, arguments))

    async def _send(
        self, method: str, url: str, headers: dict[str, str], arguments: Mapping[str, Any]
    ) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport, base_url="http://treadle") as client:
            return await client.request(method, url, headers=headers, **arguments)

    def get(self, url: str, **arguments: Any) -> httpx.Response:
        """GET ``url``."""
        return self.request("GET", url, **arguments)

    def post(self, url: str, **arguments: Any) -> httpx.Response:
        """POST to ``url``."""
        return self.request("POST", url, **arguments)

    def patch(self, url: str, **arguments: Any) -> httpx.Response:
        """PATCH ``url``."""
        return self.request("PATCH", url, **arguments)

    def delete(self, url: str, **arguments: Any) -> httpx.Response:
        """DELETE ``url``."""
        return self.request("DELETE", url, **arguments)

    def login(self, username: str, password: str = PASSWORD) -> Client:
        """Log in and keep the token."""
        answer = self.post("/auth/token", json={"username": username, "password": password})
        assert answer.status_code == 201, answer.text
        self.token = answer.json()["access_token"]
        return self

    def json(self, url: str, **arguments: Any) -> Any:
        """GET ``url``, which must succeed, and return its JSON."""
        answer = self.get(url, **arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def client_of(app: FastAPI) -> Iterator[Client]:
    """Yield a client of ``app`` with an event loop of its own."""
    with asyncio.Runner() as runner:
        yield Client(app, runner)


def session_of(database: Database, username: str, clock: Clock) -> str:
    """Open a session without a password, whose hashing takes its time, and return its token."""
    with database.begin() as connection:
        return open_session(connection, username, lifetime=timedelta(days=1), now=clock.now())


def add_instances(connection: Connection, dag_id: str, run_id: str, tasks: Mapping[str, int], *, now: datetime) -> None:
    """Give a run undecided instances: one of each task, or as many mapped ones as its number says (0: not mapped)."""
    run = find_run(connection, dag_id, run_id)
    new = [
        {
            "dag_run_id": run["id"],
            "dag_id": dag_id,
            "task_id": task_id,
            "map_index": index,
            "state": "none",
            "max_tries": 2,
            "operator": "PythonOperator",
            "pool": "default_pool",
            "pool_slots": 1,
            "queue": "default",
            "executor": None,
            "priority_weight": 1,
        }
        for task_id, number in tasks.items()
        for index in (range(number) if number else (-1,))
    ]
    insert_instances(connection, new, month=run["month"], now=now)


def move(connection: Connection, where: LiteralString, *states: str, **parameters: Any) -> None:
    """Move the instances that ``where`` names from state to state, lawfully."""
    for state in states:
        sql = f"UPDATE task_instance SET state = %(state)s WHERE {where}"
        execute(connection, sql, parameters | {"state": state})


def add_try(connection: Connection, dag_id: str, run_id: str, task_id: str, log_path: str, *, now: datetime) -> None:
    """Give an instance its first attempt, running, with a log."""
    run = find_run(connection, dag_id, run_id)
    attempt = uuid4()
    facts = {"run": run["id"], "month": run["month"], "task_id": task_id, "attempt": attempt, "now": now}
    move(connection, "task_id = %(task_id)s", "scheduled", "queued", task_id=task_id)
    execute(
        connection,
        """
        UPDATE task_instance SET state = 'running', attempt_id = %(attempt)s, try_number = 1, started_at = %(now)s
        WHERE dag_run_id = %(run)s AND month = %(month)s AND task_id = %(task_id)s
        """,
        facts,
    )
    execute(
        connection,
        """
        INSERT INTO task_attempt (attempt_id, month, task_instance_id, try_number, version_id, executor,
                                  retry_delay_seconds, queued_at, started_at, log_path, rendered_fields)
        SELECT %(attempt)s, month, id, 1, %(version)s, 'local', 0, %(now)s, %(now)s, %(log_path)s, '{"command": "ls"}'
        FROM task_instance WHERE dag_run_id = %(run)s AND month = %(month)s AND task_id = %(task_id)s
        """,
        facts | {"version": run["version_id"], "log_path": log_path},
    )


def add_xcom(
    connection: Connection, dag_id: str, run_id: str, task_id: str, key: str, text: str, *, now: datetime
) -> None:
    """Store an XCom's typed JSON text."""
    run = find_run(connection, dag_id, run_id)
    execute(
        connection,
        """
        INSERT INTO xcom (task_instance_id, key, month, value, created_at)
        SELECT id, %(key)s, month, %(text)s, %(now)s FROM task_instance
        WHERE dag_run_id = %(run)s AND month = %(month)s AND task_id = %(task_id)s
        """,
        {"run": run["id"], "month": run["month"], "task_id": task_id, "key": key, "text": text, "now": now},
    )
