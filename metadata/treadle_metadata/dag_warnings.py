"""Warnings about DAGs: one of each kind for a DAG, which a newer one replaces.

Written by the DAG processor (of a file's last parse) and by the scheduler (of schedules, partitions and runs). Storing
a DAG anew forgets those of all kinds. Each function is one statement, however many DAGs there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from treadle_metadata.statements import execute

SCHEDULE: Final = "schedule"
"""The schedule gives no next run."""

PARTITION: Final = "partition"
"""An event cannot be put under a key, or what has gathered for a key cannot be judged."""

# Who is warned of the same thing already is warned since then.
_STORE: Final = """
    INSERT INTO dag_warning (dag_id, kind, message, noticed_at)
    SELECT new.dag_id, new.kind, new.message, %(now)s
    FROM unnest(%(dag_ids)s::text[], %(kinds)s::text[], %(messages)s::text[]) AS new (dag_id, kind, message)
    ORDER BY new.dag_id, new.kind
    ON CONFLICT (dag_id, kind) DO UPDATE
    SET message = excluded.message,
        noticed_at = excluded.noticed_at
    WHERE dag_warning.message <> excluded.message
"""


def store(connection: Connection, warnings: Iterable[tuple[str, str, str]], *, now: datetime) -> None:
    """Store warnings (DAG id, kind, message); no two may be of the same DAG and kind."""
    found = list(warnings)
    if found:
        parameters = {
            "dag_ids": [one[0] for one in found],
            "kinds": [one[1] for one in found],
            "messages": [one[2] for one in found],
        }
        execute(connection, _STORE, parameters | {"now": now})


def warn(connection: Connection, kind: str, messages: Mapping[str, str], *, now: datetime) -> None:
    """Store a warning of this ``kind`` about each of these DAGs (message by DAG id)."""
    store(connection, ((dag_id, kind, message) for dag_id, message in messages.items()), now=now)


def withdraw(connection: Connection, kind: str, dag_ids: Sequence[str]) -> None:
    """Forget the warnings of this ``kind`` about these DAGs, where there are any."""
    if dag_ids:
        execute(
            connection,
            "DELETE FROM dag_warning WHERE kind = %(kind)s AND dag_id = ANY(%(dag_ids)s)",
            {"kind": kind, "dag_ids": list(dag_ids)},
        )
