"""A scheduler with one DAG whose task has durable steps, and what its steps did to the outside world."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from tests.support.working import Working, working

from treadle.document import DagDocument, TaskDocument
from treadle_metadata import steps
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows

HEAD = """
import os, signal
from pathlib import Path
from treadle import DAG, task, step

HOME = Path({home!r})

def note(line):
    with (HOME / "charges").open("a") as file:
        file.write(line + "\\n")
"""


@contextmanager
def running(database: Database, settings: Settings, source: str, retries: int = 5) -> Iterator[Working]:
    """A scheduler with the DAG ``one`` of ``source``, whose task is ``pay``, triggered."""
    task = TaskDocument("pay", operator="PythonOperator", retries=retries, retry_delay_seconds=0)
    if "@task.transaction" in source:
        task = replace(task, transaction="target")
    document = DagDocument("one", tasks=(task,))
    with working(database, replace(settings, database_url=database.url, heartbeat_seconds=0.2)) as one:
        one.install(document, HEAD.format(home=str(settings.home)) + source)
        one.trigger("one")
        yield one


def charges(settings: Settings) -> list[list[str]]:
    """What the outside world was asked for: number and idempotency key of each call."""
    path = Path(settings.home) / "charges"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def state(one: Working) -> str:
    found = one.select("SELECT state FROM task_instance")
    return str(found[0]["state"]) if found else ""


def record(connection: Connection, settings: Settings, now: datetime) -> str:
    """Give the task ``fetch`` of the only run a step ``charge`` and an awakeable ``approval``; return its token."""
    execute(connection, "SET LOCAL session_replication_role = replica")  # moves are set here, not made
    found = rows(
        connection,
        """
        UPDATE task_instance SET state = 'running', attempt_id = gen_random_uuid(), try_number = 1
        WHERE task_id = 'fetch' RETURNING id, month, attempt_id
        """,
    )[0]
    attempt = {"task_instance_id": found["id"], "month": found["month"], "attempt_id": str(found["attempt_id"])}
    crypto = Crypto.of_setting(settings.fernet_key)

    def ask(op: str, **args: Any) -> Any:
        return steps.answer(connection, {**attempt, "op": op, "args": args}, crypto=crypto, now=now)

    ask("open_journal", plan="one")
    assert ask("record_step", name="charge", inputs="of", value='{"receipt":1}') is None
    assert ask("record_step", name="charge", inputs="of", value="2") == '{"receipt":1}'
    token: str = ask("wait_for_step", kind="awakeable", name="approval", inputs="of", seconds=60)["token"]
    execute(connection, "UPDATE task_instance SET state = 'failed', ended_at = now() WHERE task_id = 'fetch'")
    execute(connection, "SET LOCAL session_replication_role = DEFAULT")
    return token
