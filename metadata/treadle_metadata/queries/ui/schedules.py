"""What the pages need to tell the runs to come: where schedules stand, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.statements import rows

_COLUMNS: Final[LiteralString] = """
    dag.dag_id, dag.next_run_at, dag.next_logical_date, dag.next_interval_start, dag.next_interval_end,
    version.document -> 'schedule' AS schedule, version.document ->> 'start_date' AS start_date,
    version.document ->> 'end_date' AS end_date
"""

_SOONEST: Final[LiteralString] = f"""
    SELECT {_COLUMNS}
    FROM (SELECT * FROM dag WHERE NOT is_paused AND is_active AND NOT at_run_limit AND next_run_at <= %(until)s
          ORDER BY next_run_at, dag_id LIMIT %(limit)s) AS dag
    LEFT JOIN dag_version AS version ON version.id = dag.version_id
    ORDER BY dag.next_run_at, dag.dag_id
"""

_OF_DAG: Final[LiteralString] = f"""
    SELECT {_COLUMNS}, dag.is_paused, dag.is_active
    FROM dag LEFT JOIN dag_version AS version ON version.id = dag.version_id WHERE dag.dag_id = %(dag_id)s
"""


def soonest(connection: Connection, *, until: datetime, limit: int) -> Sequence[Mapping[str, Any]]:
    """Return the DAGs whose next run comes until ``until``, the soonest first."""
    return rows(connection, _SOONEST, {"until": until, "limit": limit})


def of_dag(connection: Connection, dag_id: str) -> Mapping[str, Any] | None:
    """Return where a DAG's schedule stands, None if there is no such DAG."""
    found = rows(connection, _OF_DAG, {"dag_id": dag_id})
    return found[0] if found else None
