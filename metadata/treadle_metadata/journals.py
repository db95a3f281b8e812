"""What people do to journals of durable steps: accept other code, discard one, post the token of an awakeable.

Called by routes and commands, in their transaction. A discarded journal stays as evidence until its run is forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.clearing import Selection, clear
from treadle_metadata.connection import RUNS, WAKE, notify
from treadle_metadata.errors import ConflictError, LimitError, NotFoundError, shown
from treadle_metadata.statements import execute, rows, tuples
from treadle_metadata.states import TaskState
from treadle_metadata.steps import INLINE_BYTES, hash_of
from treadle_metadata.transitions import runs, suspended

_FAILED: Final = (TaskState.FAILED, TaskState.UPSTREAM_FAILED)

_JOURNAL: Final = """
    SELECT * FROM durable_journal
    WHERE task_instance_id = %(id)s AND month = %(month)s AND discarded_at IS NULL
"""

_DISCARD: Final = """
    UPDATE durable_journal SET discarded_at = %(now)s
    WHERE task_instance_id = %(id)s AND month = %(month)s AND discarded_at IS NULL
"""

_KEEP: Final = """
    UPDATE durable_journal SET discarded_at = NULL, plan = %(plan)s, refused_plan = NULL
    WHERE task_instance_id = %(id)s AND month = %(month)s AND id = %(journal)s
"""

_AWAKEABLE: Final = """
    SELECT step.*, journal.discarded_at FROM durable_step AS step
         JOIN durable_journal AS journal ON journal.task_instance_id = step.task_instance_id
              AND journal.month = step.month AND journal.id = step.journal_id
    WHERE step.token_hash = %(token_hash)s
"""

_POST: Final = """
    UPDATE durable_step SET value = %(value)s, done_at = %(now)s
    WHERE task_instance_id = %(task_instance_id)s AND month = %(month)s AND journal_id = %(journal_id)s
      AND name = %(name)s AND inputs = %(inputs)s AND done_at IS NULL AND due_at > %(now)s
"""


def accept(connection: Connection, instance: Mapping[str, Any], *, now: datetime) -> str:
    """Let the code that was refused go on with the recorded steps; return its version. The task runs again.

    Raises:
        ConflictError: the instance has no journal, or no other code was refused.
    """
    journal = _journal(connection, instance)
    if journal["refused_plan"] is None:
        raise ConflictError(
            f"{_name(instance)}: no other code met its recorded steps (they are of code {journal['plan']}), so there "
            "is nothing to accept"
        )
    _run_again(connection, instance, now)
    kept = {"id": instance["id"], "month": instance["month"], "journal": journal["id"], "plan": journal["refused_plan"]}
    execute(connection, _KEEP, kept)
    return str(journal["refused_plan"])


def discard(connection: Connection, instance: Mapping[str, Any], *, now: datetime) -> bool:
    """Discard the recorded steps: the next attempt does all anew. A failed task runs again; return whether it does.

    Raises:
        ConflictError: the instance has no journal, or runs just now.
    """
    _journal(connection, instance)
    if instance["state"] in (TaskState.RUNNING, TaskState.RESTARTING):
        raise ConflictError(f"{_name(instance)} is {instance['state']}: clear it, which ends it and begins anew")
    execute(connection, _DISCARD, {"id": instance["id"], "month": instance["month"], "now": now})
    return _run_again(connection, instance, now)


def post(connection: Connection, token: str, payload: Any, *, now: datetime) -> str:
    """Give the awakeable of ``token`` its value, once; return its name. The task that waits for it goes on.

    Raises:
        NotFoundError: no awakeable has this token.
        ConflictError: it was posted before, its deadline is over, or its journal was discarded.
        LimitError: the payload is larger than a mebibyte.
    """
    value = json.dumps(payload, separators=(",", ":"))
    if len(value) > INLINE_BYTES:
        raise LimitError(f"the payload of an awakeable has {len(value)} bytes; at most {INLINE_BYTES} fit")
    found = rows(connection, _AWAKEABLE, {"token_hash": hash_of(token)})
    if not found:
        raise NotFoundError("awakeable of token", f"{token[:4]}...")
    step = found[0]
    # Before the step, so that an attempt that is suspended just now sees this, or is seen (transitions.suspended).
    where = {"id": step["task_instance_id"], "month": step["month"]}
    tuples(connection, "SELECT id FROM task_instance WHERE id = %(id)s AND month = %(month)s FOR NO KEY UPDATE", where)
    posted = not step["discarded_at"] and execute(connection, _POST, {**step, "value": value, "now": now})
    if not posted:
        raise ConflictError(f"awakeable {shown(step['name'])} {_why_not(step, now)}: nothing was changed")
    run = suspended.wake(connection, step["task_instance_id"], month=step["month"], now=now)
    if run is not None:
        runs.wake(connection, [(run, now)])
        notify(connection, WAKE, RUNS)
    return str(step["name"])


def _why_not(step: Mapping[str, Any], now: datetime) -> str:
    if step["discarded_at"]:
        return "belongs to a journal that was discarded"
    if step["value"] is None and step["due_at"] <= now:
        return f"could be posted until {step['due_at'].isoformat()}"
    return "was posted already"


def _journal(connection: Connection, instance: Mapping[str, Any]) -> Mapping[str, Any]:
    found = rows(connection, _JOURNAL, {"id": instance["id"], "month": instance["month"]})
    if not found:
        raise ConflictError(f"{_name(instance)} has no journal of durable steps")
    return found[0]


def _run_again(connection: Connection, instance: Mapping[str, Any], now: datetime) -> bool:
    """Clear a failed instance, and what failed after it for its sake; whatever else it is, it goes on by itself."""
    if instance["state"] not in _FAILED:
        return False
    selection = Selection(
        dag_id=instance["dag_id"],
        run_id=instance["run_id"],
        task_ids=(instance["task_id"],),
        indexes_of={instance["task_id"]: {instance["map_index"]}},
        include_downstream=True,
        only_failed=True,
    )
    return bool(clear(connection, selection, now=now))


def _name(instance: Mapping[str, Any]) -> str:
    index = f"[{instance['map_index']}]" if instance["map_index"] >= 0 else ""
    return f"task {shown(instance['task_id'])}{index} of run {shown(instance['run_id'])}"
