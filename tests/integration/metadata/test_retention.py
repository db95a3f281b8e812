"""Old history is forgotten, whole months as partitions, and nothing else (case B9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from bench import loading
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata import retention
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.remote_logs.store import LogStore
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
BEFORE = datetime(2025, 12, 1, 0, 2, tzinfo=UTC)
"""Of December's runs, which are two seconds apart, the first 58 are older: they end five seconds after they are due."""
RUNS, TASKS = 100, 3


@pytest.fixture
def past(own_database: Database) -> Database:
    """A database with a hundred runs in each of October to January."""
    loading.load(own_database, loading.Past(4 * RUNS, TASKS, 4, ("old", "older")), NOW)
    with own_database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO xcom (task_instance_id, key, month, value, created_at)
            SELECT id, 'return_value', month, '1', now() FROM task_instance WHERE month < '2026-01-01'
            ON CONFLICT DO NOTHING
            """,
        )
    return own_database


def select(database: Database, sql: Any, **parameters: Any) -> list[tuple[Any, ...]]:
    with database.begin() as connection:
        return [tuple(row.values()) for row in rows(connection, sql, parameters)]


def clean(database: Database, before: datetime = BEFORE) -> list[tuple[date, int]]:
    with database.begin() as connection:
        old = retention.plan(connection, before)
    return [(one.month, gone) for one, gone in retention.clean(database, old, before, now=NOW)]


def months(database: Database, table: str) -> dict[date, int]:
    return dict(select(database, f"SELECT month, count(*) FROM {table} GROUP BY month ORDER BY month"))


def partitions(database: Database, table: str) -> list[str]:
    return [
        name
        for (name,) in select(
            database,
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = to_regclass(%(table)s) ORDER BY 1",
            table=table,
        )
    ]


def test_whole_months_are_dropped_and_the_rest_goes_run_by_run(past: Database) -> None:
    assert clean(past) == [(date(2025, 10, 1), 100), (date(2025, 11, 1), 100), (date(2025, 12, 1), 58)]
    kept = {date(2025, 12, 1): 42, date(2026, 1, 1): 100}
    assert months(past, "dag_run") == kept
    of_tasks = {month: count * TASKS for month, count in kept.items()}
    assert months(past, "task_instance") == months(past, "task_attempt") == of_tasks
    assert months(past, "xcom") == {date(2025, 12, 1): 42 * TASKS}
    for table in ("task_instance", "task_attempt", "xcom", "audit_log"):
        assert f"{table}_2025_12" in partitions(past, table)
        assert f"{table}_2025_11" not in partitions(past, table)
        assert select(past, "SELECT to_regclass(%(name)s)", name=f"{table}_2025_10") == [(None,)]
    assert clean(past) == []


@pytest.mark.parametrize("state", ["queued", "running"])
def test_an_unfinished_run_stays_with_all_that_it_has_and_so_do_its_months_partitions(
    past: Database, state: str
) -> None:
    with past.begin() as connection:
        execute(
            connection,
            "ALTER TABLE dag_run DISABLE TRIGGER USER; UPDATE dag_run SET state = 'running', ended_at = NULL"
            " WHERE run_id = 'past__2025-10-01_7'; ALTER TABLE dag_run ENABLE TRIGGER USER",
        )
        if state == "queued":
            execute(connection, "UPDATE dag_run SET state = 'queued' WHERE state = 'running'")
    clean(past)
    assert months(past, "dag_run")[date(2025, 10, 1)] == 1
    assert months(past, "task_instance")[date(2025, 10, 1)] == TASKS
    assert "task_instance_2025_10" in partitions(past, "task_instance")


def test_a_run_that_was_cleared_and_has_ended_lately_is_not_old(past: Database) -> None:
    with past.begin() as connection:
        execute(connection, "UPDATE dag_run SET ended_at = '2026-01-14' WHERE run_id = 'past__2025-11-01_3'")
    clean(past)
    assert months(past, "dag_run")[date(2025, 11, 1)] == 1


def test_a_run_that_somebody_holds_is_passed_over_and_goes_the_next_time(past: Database) -> None:
    with past.begin() as holder:
        execute(holder, "SELECT FROM dag_run WHERE run_id = 'past__2025-10-01_7' FOR UPDATE")
        assert clean(past)[0] == (date(2025, 10, 1), 99)
        assert "task_instance_2025_10" in partitions(past, "task_instance")
    assert clean(past) == [(date(2025, 10, 1), 1)]
    assert "task_instance_2025_10" not in partitions(past, "task_instance")


def test_partitions_that_a_cut_off_call_has_left_are_dropped_by_the_next(past: Database) -> None:
    with past.begin() as connection:
        execute(connection, "DELETE FROM dag_run WHERE month = '2025-10-01'")
    with past.listen(()) as connection:
        connection.execute("ALTER TABLE xcom DETACH PARTITION xcom_2025_10 CONCURRENTLY")
    assert clean(past)[0] == (date(2025, 10, 1), 0)
    assert select(
        past, "SELECT to_regclass('xcom_2025_10') AS xcom, to_regclass('task_instance_2025_10') AS instance"
    ) == [(None, None)]


def test_a_scheduler_works_on_while_runs_are_being_forgotten(
    past: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(past, replace(settings, database_url=past.url), clock)
    scheduler.install(a_dag("live", TaskDocument("task")))
    done = []

    def work() -> Iterator[Any]:
        run = scheduler.trigger("live")
        scheduler.beats()
        done.append(scheduler.run_states("live")[run])
        yield

    with past.begin() as connection:
        old = retention.plan(connection, BEFORE)
    for _ in retention.clean(past, old, BEFORE, now=NOW, forgotten=lambda _: next(work())):
        pass
    assert done == ["success"] * 3


def test_every_reference_to_a_table_that_retention_or_a_person_empties_has_an_index(own_database: Database) -> None:
    """Case B9: without one, each deleted row costs a scan of the whole table that refers to it."""
    missing = select(
        own_database,
        """
        SELECT constraint_.conrelid::regclass::text, constraint_.conname
        FROM pg_constraint AS constraint_
        WHERE contype = 'f' AND confrelid IN ('dag_run'::regclass, 'dag_version'::regclass, 'backfill'::regclass)
          -- few rows, whatever happens
          AND conrelid <> 'dag'::regclass
          AND NOT EXISTS (
              SELECT FROM pg_index
              WHERE indrelid = conrelid AND indkey[0] = conkey[1]
                AND (indpred IS NULL OR pg_get_expr(indpred, indrelid) LIKE '%% IS NOT NULL)'))
        """,
    )
    assert missing == []


def test_the_command_tells_first_and_forgets_then(past: Database, settings: Settings, tmp_path: Path) -> None:
    store = LogStore(f"file://{tmp_path}/store")
    home, url = str(settings.home), past.url
    here = CommandLine({"TREADLE_HOME": home, "TREADLE_DATABASE_URL": url, "TREADLE_REMOTE_LOGS": store.name})
    keys = [f"{month[:7]}/old/past__{month}_0/task/attempt=1" for month in ("2025-12-01", "2025-10-01")]
    for key in keys:
        store.put(key, 0, b"line\n")
    kept, gone = (settings.home / "logs" / "old" / f"past__{month}_0" for month in ("2025-12-01", "2025-10-01"))
    for folder in (kept, gone):
        folder.mkdir(parents=True)
    told = here.json("db", "clean", "--before", "2025-12-01T00:02:00+00:00", "--dry-run")
    assert [(row["month"], row["runs"], row["kept_runs"], row["how"]) for row in told] == [
        ("2025-10", 100, 0, "drop partitions"),
        ("2025-11", 100, 0, "drop partitions"),
        ("2025-12", 58, 42, "delete runs"),
    ]
    assert len(months(past, "dag_run")) == 4
    assert "--yes" in here.fails("db", "clean", "--before", "2025-12-01", code=2)
    said = here.run("db", "clean", "--before", "2025-12-01", "--logs", "--yes").stderr
    assert (kept.exists(), gone.exists()) == (True, False)
    assert [store.size(key) for key in keys] == [5, 0]
    assert "2025-10: 100 runs deleted, partitions dropped." in said
    assert len(months(past, "dag_run")) == 2
    assert select(past, "SELECT event, detail FROM audit_log")[0][1]["runs"] == 200
    assert "lies ahead" in here.fails("db", "clean", "--before", "2999-01-01", code=2)
