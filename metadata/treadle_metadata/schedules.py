"""What the scheduler stores about schedules: the next run of each DAG, the times left out, the pace of late runs.

Called by the ``create_runs`` duty, in its transaction; each function is one statement, however many DAGs are due.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle.timetables.base import DagRunInfo, DataInterval
from treadle_metadata.statements import execute, tuples

KEPT_MISSED_DAYS: Final = 90
"""How long a time that became no run stays to be seen; older rows of a DAG go when a new one comes."""


def planned(
    dag_id: str,
    *,
    last: DataInterval | None,
    following: DagRunInfo | None,
    held_since: datetime | None = None,
    run_limit: int | None = None,
    look_at: datetime | None = None,
) -> dict[str, Any]:
    """Return a row for :func:`plan_next_runs`.

    ``last`` is the newest automated run's interval, ``following`` the run after it. ``held_since`` says that the run
    limit holds it back; ``run_limit`` is the timetable's own. ``look_at`` says that nobody needs to look before then,
    though it is due.
    """
    return {
        "dag_id": dag_id,
        "last_start": last and last.start,
        "last_end": last and last.end,
        "run_after": look_at or (following and following.run_after),
        "logical_date": following and following.logical_date,
        "start": following and following.data_interval.start,
        "end": following and following.data_interval.end,
        "held_since": held_since,
        "run_limit": run_limit,
    }


def plan_next_runs(connection: Connection, plans: Sequence[Mapping[str, Any]]) -> None:
    """Store for each DAG where its schedule stands, what comes next, and whether the run limit holds it back."""
    if not plans:
        return
    names = ("dag_id", "last_start", "last_end", "run_after", "logical_date", "start", "end", "held_since", "run_limit")
    execute(
        connection,
        """
        UPDATE dag
        SET last_interval_start = new.last_start, last_interval_end = new.last_end, next_run_at = new.run_after,
            next_logical_date = new.logical_date, next_interval_start = new.start, next_interval_end = new.end,
            at_run_limit = new.held_since IS NOT NULL, held_since = new.held_since,
            schedule_run_limit = new.run_limit
        FROM unnest(%(dag_id)s::text[], %(last_start)s::timestamptz[], %(last_end)s::timestamptz[],
                    %(run_after)s::timestamptz[], %(logical_date)s::timestamptz[], %(start)s::timestamptz[],
                    %(end)s::timestamptz[], %(held_since)s::timestamptz[], %(run_limit)s::int[])
             AS new (dag_id, last_start, last_end, run_after, logical_date, start, "end", held_since, run_limit)
        WHERE dag.dag_id = new.dag_id
        """,
        {name: [one[name] for one in plans] for name in names},
    )


def store_missed(connection: Connection, missed: Sequence[Mapping[str, Any]], *, now: datetime) -> None:
    """Store times that became no run (``dag_id`` and the fields of ``planning.Missed``), each once (case A65)."""
    if not missed:
        return
    names = ("dag_id", "run_after", "logical_date", "last_run_after", "slots", "reason")
    execute(
        connection,
        """
        WITH old AS (
            DELETE FROM missed_slot
            WHERE dag_id = ANY(%(dag_id)s) AND noticed_at < %(now)s - make_interval(days => %(days)s))
        INSERT INTO missed_slot (dag_id, run_after, logical_date, last_run_after, slots, reason, noticed_at)
        SELECT *, %(now)s
        FROM unnest(%(dag_id)s::text[], %(run_after)s::timestamptz[], %(logical_date)s::timestamptz[],
                    %(last_run_after)s::timestamptz[], %(slots)s::int[], %(reason)s::text[])
        ON CONFLICT DO NOTHING
        """,
        {name: [one[name] for one in missed] for name in names} | {"now": now, "days": KEPT_MISSED_DAYS},
    )


def take_from_pace(connection: Connection, wanted: int, *, most: int, now: datetime) -> int:
    """Return how many of ``wanted`` late runs may be made in this minute, and count the wish (case A67).

    The one row is locked until the transaction ends, so that all schedulers together keep to the pace.
    """
    found = tuples(
        connection,
        """
        INSERT INTO schedule_pace AS pace (id, minute, wanted) VALUES (1, %(minute)s, %(wanted)s)
        ON CONFLICT (id) DO UPDATE
        SET minute = excluded.minute,
            wanted = excluded.wanted + CASE WHEN pace.minute = excluded.minute THEN pace.wanted ELSE 0 END
        RETURNING wanted
        """,
        {"minute": now.replace(second=0, microsecond=0), "wanted": wanted},
    )
    left = most - (int(found[0][0]) - wanted)
    return max(0, min(wanted, left))
