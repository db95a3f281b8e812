"""The first page: daemons, what is under way, what failed lately, pools, broken files and the runs that come next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.queries.ui.human_steps import COUNT_OPEN
from treadle_metadata.statements import rows

_LONG_GONE: Final = timedelta(hours=1)

_DAEMONS: Final[LiteralString] = """
    SELECT process.id, process.kind, hostname, pid, started_at, heartbeat_at, lease_until > %(now)s AS is_alive,
           executors
    FROM process WHERE kind = ANY(%(kinds)s) AND heartbeat_at > %(since)s AND stopped_at IS NULL
    ORDER BY kind, heartbeat_at DESC LIMIT 200
"""

# Runs under way by their partial index, ended ones by the index of ended runs: what it reads are those of a day.
_FIGURES: Final[LiteralString] = f"""
    WITH under_way AS (SELECT dag_id, state FROM dag_run WHERE state IN ('queued', 'running'))
    SELECT (SELECT count(*) FROM under_way WHERE state = 'queued') AS queued,
           (SELECT count(*) FROM under_way WHERE state = 'running') AS running,
           ended.failed, ended.success, dags.*,
           ({COUNT_OPEN}) AS human_steps,
           (SELECT min(next_run_at) FROM dag
            WHERE NOT is_paused AND is_active AND NOT at_run_limit AND next_run_at <= %(now)s) AS late_since
    FROM (SELECT count(*) FILTER (WHERE state = 'failed') AS failed,
                 count(*) FILTER (WHERE state = 'success') AS success
          FROM dag_run WHERE ended_at > %(since)s) AS ended,
         (SELECT count(*) AS all_dags, count(*) FILTER (WHERE NOT is_paused) AS unpaused,
                 count(*) FILTER (WHERE is_paused) AS paused, count(*) FILTER (WHERE has_import_errors) AS broken,
                 count(*) FILTER (WHERE dag_id IN (SELECT dag_id FROM under_way)) AS active
          FROM dag WHERE is_active) AS dags
"""

_FAILED: Final[LiteralString] = """
    SELECT run.dag_id, dag.display_name, run.run_id, run.run_after, run.started_at, run.ended_at
    FROM dag_run AS run JOIN dag ON dag.dag_id = run.dag_id
    WHERE run.ended_at > %(since)s AND run.state = 'failed'
    ORDER BY run.ended_at DESC, run.id DESC LIMIT %(limit)s
"""

_ERRORS: Final[LiteralString] = """
    SELECT error.id, error.file, error.line, error.message, error.occurred_at, count(*) OVER () AS total
    FROM import_error AS error
    ORDER BY error.occurred_at DESC LIMIT %(limit)s
"""

_COMING: Final[LiteralString] = """
    SELECT dag.dag_id, dag.display_name, dag.next_run_at, dag.next_logical_date, dag.schedule_summary
    FROM dag
    WHERE NOT is_paused AND is_active AND NOT at_run_limit AND next_run_at <= %(until)s
    ORDER BY next_run_at, dag_id LIMIT %(limit)s
"""


def daemons(connection: Connection, kinds: Sequence[str], *, now: datetime) -> Sequence[Mapping[str, Any]]:
    """Return the daemons that have not stopped in order, those that fell silent within the hour included."""
    return rows(connection, _DAEMONS, {"kinds": list(kinds), "now": now, "since": now - _LONG_GONE})


def figures(connection: Connection, *, since: datetime, now: datetime) -> dict[str, Any]:
    """Return runs ``queued`` and ``running``, those that ``failed`` or had ``success`` since ``since``; DAGs by what
    they are; open ``human_steps``; and since when a run is due that is not made (``late_since``, or None).
    """
    return dict(rows(connection, _FIGURES, {"since": since, "now": now})[0])


def failed_runs(connection: Connection, *, since: datetime, limit: int) -> Sequence[Mapping[str, Any]]:
    """Return the runs that failed since ``since``, the newest first."""
    return rows(connection, _FAILED, {"since": since, "limit": limit})


def import_errors(connection: Connection, *, limit: int) -> Sequence[Mapping[str, Any]]:
    """Return the newest files that cannot be imported, each with the ``total`` number of them."""
    return rows(connection, _ERRORS, {"limit": limit})


def coming_runs(connection: Connection, *, until: datetime, limit: int) -> Sequence[Mapping[str, Any]]:
    """Return the DAGs whose next run comes until ``until``, the soonest first."""
    return rows(connection, _COMING, {"until": until, "limit": limit})
