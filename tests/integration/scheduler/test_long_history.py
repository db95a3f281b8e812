"""Case B1: a schedule reads no more rows behind a long past than on an empty database (times: ``bench history``)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bench import loading
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows

MINUTES = 8


def rows_read(database: Database) -> int:
    """Return how many rows of our tables all sessions have read so far."""
    # A session tells its numbers when it ends.
    database.close()
    seen: list[int] = []

    def is_settled() -> bool:
        with database.begin() as connection:
            row = rows(
                connection,
                "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint AS n FROM pg_stat_user_tables",
            )[0]
        seen.append(row["n"])
        return len(seen) > 5 and len(set(seen[-5:])) == 1

    wait_until(is_settled)
    return seen[-1]


def test_a_minutely_dag_reads_no_more_rows_with_a_long_past_than_without(
    own_database: Database, settings: Settings
) -> None:
    clock = ManualClock(datetime(2026, 1, 15, 12, tzinfo=UTC))
    scheduler = TestScheduler(own_database, replace(settings, database_url=own_database.url), clock)
    scheduler.install(
        a_dag(
            "minutely",
            TaskDocument("task"),
            schedule=ScheduleDocument(kind="cron", expressions=("* * * * *",), style="trigger"),
            start_date="2026-01-15T11:59:00+00:00",
        ),
        next_run_at=clock.now(),
    )

    def cost() -> int:
        before = rows_read(own_database)
        for _ in range(MINUTES):
            clock.advance(timedelta(minutes=1))
            scheduler.loop.beat()
            for _ in range(3):
                scheduler.loop.beat()
        return rows_read(own_database) - before

    cost()
    empty = cost()
    loading.load(own_database, loading.Past(600, 30, 6, ("minutely", "old")), clock.now())
    cost()
    full = cost()
    states = scheduler.run_states("minutely")
    assert len(states) >= 4 * MINUTES + 300
    assert set(states.values()) == {"success"}
    # The rows of one more DAG are among those that a beat may read.
    assert full <= 1.1 * empty + 20 * MINUTES, f"{full} rows with the past, {empty} without"
