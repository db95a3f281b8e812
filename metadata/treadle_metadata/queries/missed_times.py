"""Which times of a DAG's schedule became no run, and why. For ``treadle dags missed`` and its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from treadle_metadata.queries.dags import check_dag
from treadle_metadata.statements import rows


def missed_times(connection: Connection, dag_id: str, *, most: int) -> Sequence[Mapping[str, Any]]:
    """Return the times that became no run, newest first: single ones, and rows for many in a row.

    ``slots`` is how many times a row stands for, from ``run_after`` to ``last_run_after``; None where nobody counted.

    Raises:
        NotFoundError: there is no such DAG.
    """
    found = rows(
        connection,
        """
        SELECT run_after, logical_date, last_run_after, slots, reason, noticed_at FROM missed_slot
        WHERE dag_id = %(dag_id)s ORDER BY run_after DESC LIMIT %(most)s
        """,
        {"dag_id": dag_id, "most": most},
    )
    if not found:
        check_dag(connection, dag_id)
    return found
