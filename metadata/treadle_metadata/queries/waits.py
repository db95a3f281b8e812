"""What an instance waits for, and which sensors hold the slots of a pool: rows read for explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.deciding.reasons import instance_id
from treadle_metadata.deciding.why_waits import PoolOfSensors, QuestionFacts, SensorFacts, StepFacts
from treadle_metadata.statements import rows

_NAMED: Final = 3

# The wait must be that of the attempt that runs: an earlier one's is over, or has yet to be noted again.
_IN_SLOTS: Final = """
    SELECT waiting.pool, waiting.slots, waiting.total, waiting.dag_id, run.run_id, waiting.task_id, waiting.map_index
    FROM (
        SELECT active.*, sum(active.pool_slots) OVER of_pool AS slots, count(*) OVER of_pool AS total,
               row_number() OVER (PARTITION BY active.pool ORDER BY active.started_at, active.id) AS place
        FROM task_instance AS active
             JOIN sensor_wait AS wait ON wait.task_instance_id = active.id AND wait.month = active.month
                  AND wait.attempt_id = active.attempt_id AND wait.mode = 'poke'
        WHERE active.state IN ('queued', 'running', 'restarting', 'deferred') AND active.state = 'running'
        WINDOW of_pool AS (PARTITION BY active.pool)
    ) AS waiting JOIN dag_run AS run ON run.id = waiting.dag_run_id
    WHERE place <= %(named)s
    ORDER BY pool, place
"""


def sensor_of(connection: Connection, instance: Mapping[str, Any]) -> SensorFacts | None:
    """Return the wait of an instance that is a sensor and has looked in vain."""
    found = rows(
        connection,
        "SELECT mode, began_at, gives_up_at, pokes, attempt_id FROM sensor_wait"
        " WHERE task_instance_id = %(id)s AND month = %(month)s",
        {"id": instance["id"], "month": instance["month"]},
    )
    if not found or instance["attempt_id"] not in (None, found[0]["attempt_id"]):
        return None
    one = found[0]
    return SensorFacts(one["mode"], one["began_at"], one["gives_up_at"], one["pokes"])


def question_of(connection: Connection, instance: Mapping[str, Any]) -> QuestionFacts | None:
    """Return the question of an instance that waits for an answer."""
    found = rows(
        connection,
        "SELECT subject, options, assignees, due_at, defaults FROM human_step WHERE task_instance_id = %(id)s"
        " AND month = %(month)s AND withdrawn_at IS NULL AND answered_at IS NULL",
        {"id": instance["id"], "month": instance["month"]},
    )
    if not found:
        return None
    one = found[0]
    assignees = [str(user.get("name") or user["id"]) for user in one["assignees"]]
    return QuestionFacts(one["subject"], one["options"], assignees, one["due_at"], one["defaults"] is not None)


def step_of(connection: Connection, instance: Mapping[str, Any]) -> StepFacts | None:
    """Return the sleep or awakeable of an instance that a durable step has suspended: the one that was begun last."""
    found = rows(
        connection,
        """
        SELECT step.kind, step.name, step.due_at
        FROM durable_step AS step JOIN durable_journal AS journal
             ON journal.task_instance_id = step.task_instance_id AND journal.id = step.journal_id
             AND journal.month = step.month AND journal.discarded_at IS NULL
        WHERE step.task_instance_id = %(id)s AND step.month = %(month)s AND step.done_at IS NULL
        ORDER BY step.number DESC LIMIT 1
        """,
        {"id": instance["id"], "month": instance["month"]},
    )
    return StepFacts(found[0]["kind"], found[0]["name"], found[0]["due_at"]) if found else None


def pools_of_sensors(connection: Connection) -> dict[str, PoolOfSensors]:
    """Return the sensors that wait in slots, by pool."""
    found: dict[str, PoolOfSensors] = {}
    for row in rows(connection, _IN_SLOTS, {"named": _NAMED}):
        name = instance_id(row["dag_id"], row["run_id"], row["task_id"], row["map_index"])
        before = found.get(row["pool"])
        named = [*(before.sensors if before is not None else ()), name]
        found[row["pool"]] = PoolOfSensors(int(row["slots"]), named, row["total"])
    return found
