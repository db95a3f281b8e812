"""Forgetting old runs: their rows in small transactions, and whole months of the big tables by dropping partitions.

Called by ``treadle db clean``. A run is old when it has finished, and was made and ended before a date; what is not
finished is never touched. A month all of whose runs are old loses its partitions once its runs are gone. Cut off at any
moment it leaves whole runs, and at most partitions without runs, which the next call drops. No lock of it outlives a
batch, and a run that somebody holds (a scheduler, a person who clears it) is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Final

import psycopg
from sqlalchemy import Connection

from treadle_metadata import claims, processes
from treadle_metadata.connection import Database
from treadle_metadata.partitions import following, name_of
from treadle_metadata.statements import execute, rows, tuples
from treadle_metadata.tables import PARTITIONED
from treadle_metadata.transitions import runs

BATCH: Final = 500
"""Runs in a transaction."""

_INSTANCES: Final = "SELECT id FROM task_instance WHERE month = %(month)s AND dag_run_id = ANY(%(runs)s)"

_OF_RUNS: Final = (
    f"DELETE FROM xcom WHERE month = %(month)s AND task_instance_id IN ({_INSTANCES})",
    f"DELETE FROM task_attempt WHERE month = %(month)s AND task_instance_id IN ({_INSTANCES})",
    f"DELETE FROM durable_step WHERE month = %(month)s AND task_instance_id IN ({_INSTANCES})",
    f"DELETE FROM durable_blob WHERE month = %(month)s AND task_instance_id IN ({_INSTANCES})",
    f"DELETE FROM durable_failure WHERE month = %(month)s AND task_instance_id IN ({_INSTANCES})",
    f"DELETE FROM durable_journal WHERE month = %(month)s AND task_instance_id IN ({_INSTANCES})",
    f"DELETE FROM sensor_wait WHERE month = %(month)s AND task_instance_id IN ({_INSTANCES})",
    f"DELETE FROM human_step WHERE month = %(month)s AND task_instance_id IN ({_INSTANCES})",
    "DELETE FROM task_instance WHERE month = %(month)s AND dag_run_id = ANY(%(runs)s)",
)

_OLD: Final = """
    SELECT month, count(*) AS runs,
           array_agg(id ORDER BY id) FILTER (
               WHERE state IN ('success', 'failed') AND queued_at < %(before)s AND ended_at < %(before)s) AS old
    FROM dag_run WHERE month < %(before)s
    GROUP BY month
"""

_PARTITIONS: Final = """
    SELECT child.relname AS name, parent.relname AS parent, pg_total_relation_size(child.oid) AS bytes,
           greatest(child.reltuples, 0)::bigint AS rows
    FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid JOIN pg_class AS parent ON parent.oid = inhparent
    WHERE parent.relname = ANY(%(parents)s) AND child.relkind = 'r'
"""


@dataclass(frozen=True, slots=True)
class OldMonth:
    """What is old of the runs made in a month. ``rows`` (as last analysed) and ``bytes`` are of all its partitions."""

    month: date
    run_ids: Sequence[int]
    kept_runs: int
    whole: bool
    """Whether nothing of it is to stay, so that its partitions can be dropped."""
    rows: int
    bytes: int


def plan(connection: Connection, before: datetime) -> list[OldMonth]:
    """Return the months that hold something older than ``before``, oldest first."""
    sizes = _sizes(connection)
    found = {row["month"]: row for row in rows(connection, _OLD, {"before": before})}
    planned = []
    for month in sorted(sizes.keys() | found.keys()):
        old = list(found[month]["old"] or []) if month in found else []
        kept = found[month]["runs"] - len(old) if month in found else 0
        whole = not kept and following(month) <= before.date()
        if old or whole:
            planned.append(OldMonth(month, old, kept, whole, *sizes.get(month, (0, 0))))
    return planned


def _sizes(connection: Connection) -> dict[date, tuple[int, int]]:
    """Return rows and bytes of the partitions of each month."""
    sizes: dict[date, tuple[int, int]] = {}
    for one in rows(connection, _PARTITIONS, {"parents": [table.name for table in PARTITIONED]}):
        year, number = one["name"].split("_")[-2:]
        month = date(int(year), int(number), 1)
        before = sizes.get(month, (0, 0))
        sizes[month] = (before[0] + one["rows"], before[1] + one["bytes"])
    return sizes


def clean(
    database: Database,
    old: Sequence[OldMonth],
    before: datetime,
    *,
    now: datetime,
    forgotten: Callable[[Sequence[tuple[date, str, str]]], None] = lambda _: None,
) -> Iterator[tuple[OldMonth, int]]:
    """Forget what ``plan`` found; yield each month with how many of its runs went, when it is done.

    ``forgotten`` is told the (month, DAG id, run id) of each batch once it is gone for good, to take away its logs.
    """
    for one in old:
        gone = 0
        for start in range(0, len(one.run_ids), BATCH):
            batch = one.run_ids[start : start + BATCH]
            names = database.run(partial(_forget, one=one, batch=batch, before=before, now=now))
            forgotten([(one.month, *name) for name in names])
            gone += len(names)
        if one.whole and not database.run(partial(_has_runs, month=one.month)):
            drop(database, one.month)
        yield one, gone
    database.run(lambda connection: processes.forget(connection, before))


def drop(database: Database, month: date) -> None:
    """Drop the partitions of a month that has no runs; readers and writers of the others go on meanwhile."""
    with database.listen(()) as connection:
        for table in PARTITIONED:
            name = name_of(table.name, month)
            if _is_attached(connection, table.name, name):
                _detach(connection, table.name, name)
            connection.execute(psycopg.sql.SQL("DROP TABLE IF EXISTS {}").format(psycopg.sql.Identifier(name)))


def _detach(connection: psycopg.Connection[tuple[object, ...]], table: str, name: str) -> None:
    names = [psycopg.sql.Identifier(table), psycopg.sql.Identifier(name)]
    pending = "SELECT FROM pg_inherits WHERE inhrelid = to_regclass(%s) AND inhdetachpending"
    # A call that was cut off between the two halves of this has left it pending.
    how = "FINALIZE" if connection.execute(pending, (name,)).fetchone() is not None else "CONCURRENTLY"
    statement = psycopg.sql.SQL("ALTER TABLE {} DETACH PARTITION {} {}")
    connection.execute(statement.format(*names, psycopg.sql.SQL(how)))


def _is_attached(connection: psycopg.Connection[tuple[object, ...]], table: str, name: str) -> bool:
    attached = "SELECT FROM pg_inherits WHERE inhparent = to_regclass(%s) AND inhrelid = to_regclass(%s)"
    return connection.execute(attached, (table, name)).fetchone() is not None


def _forget(
    connection: Connection, *, one: OldMonth, batch: Sequence[int], before: datetime, now: datetime
) -> Sequence[tuple[str, str]]:
    locked = claims.claim_old_runs(connection, batch, before=before)
    ids = [row[0] for row in locked]
    # The run after one may have waited for it; by when it is looked at, this one is gone.
    runs.wake_following(connection, ids, now=now)
    delete_rows(connection, ids, one.month, with_instances=not one.whole)
    return [(row[1], row[2]) for row in locked]


def delete_rows(connection: Connection, run_ids: Sequence[int], month: date, *, with_instances: bool = True) -> None:
    """Delete the rows of runs of one month, which the caller has locked; without instances their partitions go."""
    parameters = {"runs": list(run_ids), "month": month}
    if with_instances:
        for sql in _OF_RUNS:
            execute(connection, sql, parameters)
    execute(connection, "DELETE FROM run_wakeup WHERE dag_run_id = ANY(%(runs)s)", parameters)
    execute(connection, "DELETE FROM dag_run WHERE id = ANY(%(runs)s)", parameters)


def _has_runs(connection: Connection, *, month: date) -> bool:
    return bool(tuples(connection, "SELECT FROM dag_run WHERE month = %(month)s LIMIT 1", {"month": month}))
