"""A task instance that waits for people's answer, without a process: its rows, as an attempt would have left them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from treadle_metadata import human_steps
from treadle_metadata.crypto import Crypto
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows


def ask(connection: Connection, settings: Settings, now: datetime, *, task: str = "fetch", **question: Any) -> None:
    """Let a task of the only run ask, and wait as ``up_for_reschedule``."""
    execute(connection, "SET LOCAL session_replication_role = replica")  # moves are set here, not made
    found = rows(
        connection,
        """
        UPDATE task_instance SET state = 'running', attempt_id = gen_random_uuid(), try_number = 1, ended_at = NULL
        WHERE task_id = %(task)s RETURNING id, month, attempt_id
        """,
        {"task": task},
    )[0]
    request = {
        "task_instance_id": found["id"],
        "month": found["month"],
        "attempt_id": str(found["attempt_id"]),
        "op": "ask_human",
        "args": {"subject": "Go?", "options": ["yes", "no"], **question},
    }
    told = human_steps.answer(connection, request, crypto=Crypto.of_setting(settings.fernet_key), now=now)
    assert (told["is_new"], told["state"]) == (True, "waiting")
    execute(
        connection,
        """
        UPDATE task_instance
        SET state = 'up_for_reschedule', attempt_id = NULL, try_number = 0, next_retry_at = '2100-01-01+00'
        WHERE task_id = %(task)s
        """,
        {"task": task},
    )
    execute(connection, "SET LOCAL session_replication_role = DEFAULT")
