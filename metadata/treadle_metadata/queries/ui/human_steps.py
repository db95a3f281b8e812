"""The inbox of questions that tasks ask people: those that are open, and those answered lately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.queries.human_steps import OPEN
from treadle_metadata.statements import rows, tuples

_SELECT: Final[LiteralString] = """
    SELECT step.*, instance.dag_id, dag.display_name, run.run_id, instance.task_id, instance.map_index, instance.state
    FROM human_step AS step
    JOIN task_instance AS instance ON instance.id = step.task_instance_id AND instance.month = step.month
    JOIN dag_run AS run ON run.id = instance.dag_run_id
    JOIN dag ON dag.dag_id = run.dag_id
"""

_OPEN: Final[LiteralString] = f"""
    {_SELECT}
    WHERE step.withdrawn_at IS NULL AND {OPEN}
    ORDER BY step.asked_at, step.task_instance_id LIMIT %(limit)s
"""

COUNT_OPEN: Final[LiteralString] = f"""
    SELECT count(*) FROM human_step AS step
    JOIN task_instance AS instance ON instance.id = step.task_instance_id AND instance.month = step.month
    WHERE step.withdrawn_at IS NULL AND {OPEN}
"""

# Answers are few, and only the partitions of these months are read.
_ANSWERED: Final[LiteralString] = f"""
    {_SELECT}
    WHERE step.answered_at IS NOT NULL AND step.month >= %(since)s
    ORDER BY step.answered_at DESC LIMIT %(limit)s
"""


def open_steps(connection: Connection, *, limit: int) -> Sequence[Mapping[str, Any]]:
    """Return the questions that wait for an answer, the oldest first."""
    return rows(connection, _OPEN, {"limit": limit})


def answered_steps(connection: Connection, *, since: date, limit: int) -> Sequence[Mapping[str, Any]]:
    """Return the questions of the months from ``since`` on that were answered, the newest answer first."""
    return rows(connection, _ANSWERED, {"since": since, "limit": limit})


def count_open(connection: Connection) -> int:
    """Return how many questions wait for an answer."""
    return int(tuples(connection, COUNT_OPEN)[0][0])
