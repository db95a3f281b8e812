"""The part of a run's statements that works out its deadlines; see ``treadle_metadata.deadlines``."""

from __future__ import annotations

from typing import Final

OF_RUNS: Final = """
    SELECT begun.id AS dag_run_id, begun.clear_number, (alert.position - 1)::int AS position,
           alert.document ->> 'name' AS name, alert.document ->> 'reference' AS reference, base.at AS base_at,
           greatest('0001-01-02 UTC', least('9999-12-30 UTC',
               base.at + make_interval(secs => (alert.document ->> 'interval_seconds')::float8))) AS due_at
    FROM begun JOIN dag_version AS version ON version.id = begun.version_id
    CROSS JOIN LATERAL jsonb_array_elements(version.deadlines) WITH ORDINALITY AS alert (document, position)
    CROSS JOIN LATERAL (
        SELECT CASE alert.document ->> 'reference'
            WHEN 'dagrun_queued_at' THEN greatest(begun.queued_at, begun.run_after)
            WHEN 'dagrun_logical_date' THEN coalesce(begun.logical_date, begun.run_after)
            WHEN 'fixed_datetime' THEN (alert.document ->> 'fixed_at')::timestamptz
            WHEN 'average_runtime' THEN greatest(begun.queued_at, begun.run_after) + (
                SELECT avg(past.ended_at - past.started_at)
                FROM (SELECT started_at, ended_at FROM dag_run
                      WHERE dag_id = begun.dag_id AND state = 'success'
                      ORDER BY run_after DESC, id DESC LIMIT (alert.document ->> 'max_runs')::int) AS past
                HAVING count(*) >= (alert.document ->> 'min_runs')::int)
        END) AS base (at)
    WHERE base.at IS NOT NULL
"""
"""Deadlines of the runs in the common table ``begun``. A version without any has NULL there, which gives no row. A run
that may start later only counts as queued from then on: an alert must not come before it can run (case A60)."""
