"""What a simulation writes into its scratch database: the copied definitions, and where its schedules begin and end.

Called by ``treadle_scheduler.simulation`` only, and never on an installation's own database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, insert

from treadle_metadata.queries.simulation import COPIED
from treadle_metadata.statements import execute, tuples

_TABLES_THAT_TELL: Final = "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"


def tell_nobody(connection: Connection) -> None:
    """Turn the triggers off that tell pages of what changed, for as long as this database is there."""
    for (table,) in tuples(connection, _TABLES_THAT_TELL):
        connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER USER")


def fill(connection: Connection, definitions: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Store definitions (rows by table, ``queries.simulation.definitions``) in an empty database."""
    execute(connection, "DELETE FROM slot_pool")
    for table in COPIED:
        wanted = [dict(row) for row in definitions.get(table.name, ())]
        if wanted:
            connection.execute(insert(table), wanted)


def end_schedules(connection: Connection, at: datetime) -> None:
    """Let no DAG make the run that is due at ``at`` or later."""
    execute(connection, "UPDATE dag SET next_run_at = NULL WHERE next_run_at >= %(at)s", {"at": at})


def count_unfinished(connection: Connection) -> int:
    """Return how many runs have not ended."""
    found = tuples(connection, "SELECT count(*) FROM dag_run WHERE state IN ('queued', 'running')")
    return int(found[0][0])


def analyze(connection: Connection) -> None:
    """Let the planner know how large the tables have become, as autovacuum does in an installation that lives."""
    execute(connection, "ANALYZE dag, dag_run, run_wakeup, task_instance, task_attempt")
