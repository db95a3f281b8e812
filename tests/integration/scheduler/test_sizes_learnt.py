"""The planner learns of a new month's tables while they grow, before autovacuum comes by."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.support.scheduling import TestScheduler

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.planner_statistics import ENOUGH, FEW, is_outgrown
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, tuples

FILL = """
    INSERT INTO task_attempt (attempt_id, month, task_instance_id, try_number, version_id, executor,
                              retry_delay_seconds, queued_at, log_path)
    SELECT gen_random_uuid(), '2026-05-01', number, 1, 1, 'local', 0, '2026-05-01', 'log'
    FROM generate_series(1, 2000) AS number
"""

BY_KEY = """
    EXPLAIN (GENERIC_PLAN, FORMAT JSON)
    UPDATE task_attempt AS attempt SET pid = 1 FROM unnest($1::uuid[]) AS report (attempt_id)
    WHERE attempt.attempt_id = report.attempt_id AND attempt.month = $2::date
"""


def is_found_by_key(database: Database) -> bool:
    """Tell whether a statement like those that close attempts finds each by its key."""
    with database.begin() as connection:
        plan = json.dumps(tuples(connection, BY_KEY)[0][0])
    return "((attempt_id = report.attempt_id) AND (month = $2))" in plan


def test_attempts_of_a_month_that_has_begun_are_soon_found_by_their_keys(
    own_database: Database, settings: Settings
) -> None:
    clock = ManualClock(datetime(2026, 5, 1, tzinfo=UTC))
    scheduler = TestScheduler(own_database, replace(settings, database_url=own_database.url), clock)
    scheduler.loop.beat()
    with own_database.begin() as connection:
        execute(connection, FILL)
    assert not is_found_by_key(own_database)
    clock.advance(timedelta(seconds=settings.heartbeat_seconds))
    scheduler.loop.beat()
    assert is_found_by_key(own_database)


def test_a_table_is_analyzed_when_it_has_grown_to_four_times_its_size_until_it_is_large() -> None:
    assert not is_outgrown(known=0, pages=FEW)
    assert is_outgrown(known=0, pages=FEW + 1)
    assert not is_outgrown(known=10, pages=40)
    assert is_outgrown(known=10, pages=41)
    assert not is_outgrown(known=ENOUGH, pages=100 * ENOUGH)
