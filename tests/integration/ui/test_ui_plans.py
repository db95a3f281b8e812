"""Every question of the pages reads indexes of the big tables, and few rows for a page, however long the past."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection
from tests.integration.web.test_query_plans import BIG, _pages_read, _plan, history, statements_of

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.queries.ui import dag_list, gantt, grid, home, instances, pool_use, run_pages, timeline
from treadle_metadata.queries.ui import history as over_time
from treadle_metadata.statements import execute

__all__ = ["history"]

WALK = PageRequest(cursor="", limit=25)
MONTH = date(2026, 1, 1)
ATTEMPTS = """
    INSERT INTO task_attempt (attempt_id, month, task_instance_id, try_number, version_id, executor,
                              retry_delay_seconds, outcome, queued_at, log_path)
    SELECT gen_random_uuid(), month, id, 1, 1, 'local', 0, 'success', '2026-01-01', 'x' FROM task_instance
"""


def _asked(clock: ManualClock) -> dict[str, tuple[Callable[[Connection], Any], str]]:
    now = clock.now()
    hours = now - timedelta(hours=1)
    found: dict[str, tuple[Callable[[Connection], Any], str]] = {
        "grid": (_grid, "dag_run_id_task_id_map_index_month"),
        "grid of long ago": (lambda one: _grid(one, now - timedelta(minutes=1500)), "dag_run_newest_of_dag"),
        "runs of all DAGs": (lambda one: run_pages.list_runs(one, run_pages.RunSearch(), WALK), "dag_run_newest"),
        "failed runs": (
            lambda one: run_pages.list_runs(one, run_pages.RunSearch(states=["failed"]), WALK),
            "dag_run_failed",
        ),
        "a run's neighbours": (
            lambda one: run_pages.neighbours(one, run_pages.get_run(one, "weather", "weather19990")),
            "dag_run_newest_of_dag",
        ),
        "Gantt chart": (
            lambda one: gantt.attempts(one, run_pages.get_run(one, "weather", "weather19990")),
            "task_attempt_2026_01_task_instance_id_try_number",
        ),
        "instances": (
            lambda one: instances.list_instances(one, run_pages.get_run(one, "weather", "weather19990"), "fetch", WALK),
            "dag_run_id_task_id_map_index_month",
        ),
        "durations": (
            lambda one: over_time.task_durations(one, over_time.newest_runs(one, "weather", 20)),
            "dag_run_id_task_id_map_index_month",
        ),
        "calendar of a week": (
            lambda one: over_time.days(one, "weather", since=now - timedelta(days=1), until=now, zone="UTC"),
            "dag_run_newest_of_dag",
        ),
        "last runs of DAGs": (lambda one: dag_list.recent_runs(one, ["weather", "other"], 14), "dag_run_newest_of_dag"),
        "failed lately": (lambda one: home.failed_runs(one, since=hours, limit=10), "dag_run_"),
        "use of pools": (lambda one: pool_use.pool_use(one, limit=10), "task_instance_2026_01_pool_is_backfill"),
        "timeline": (
            lambda one: timeline.runs_between(one, since=now - timedelta(minutes=1), until=now),
            "dag_run_unfinished",
        ),
    }
    return found


def _grid(connection: Connection, until: datetime | None = None) -> object:
    page = grid.list_runs(connection, "weather", WALK, until=until)
    return grid.states(connection, [(run["id"], run["month"]) for run in page.rows])


def test_no_page_reads_a_whole_table(database: Database, history: None, clock: ManualClock) -> None:
    with database.begin() as connection:
        # The past of this test ended all at once; that of an installation did not.
        connection.exec_driver_sql("UPDATE dag_run SET ended_at = run_after WHERE ended_at IS NOT NULL")
        # Attempts as well: else a plan depends on what the tests before this one have told of an empty table.
        execute(connection, ATTEMPTS)
        connection.exec_driver_sql("ANALYZE dag_run, task_attempt")
        for name, (ask, index) in _asked(clock).items():
            with statements_of(connection) as seen:
                ask(connection)
            text = "\n".join(_plan(connection, sql, parameters) for sql, parameters in seen)
            assert index in text, f"{name}:\n{text}"
            for table in BIG:
                assert f"Seq Scan on {table}_2026_01" not in text, f"{name}:\n{text}"
                assert f"Seq Scan on {table} " not in text, f"{name}:\n{text}"


def test_pages_of_one_dag_read_what_they_show(database: Database, history: None, clock: ManualClock) -> None:
    with database.begin() as connection:
        asked = _asked(clock)
        for name in (
            "grid",
            "grid of long ago",
            "a run's neighbours",
            "Gantt chart",
            "instances",
            "last runs of DAGs",
            "runs of all DAGs",
        ):
            with statements_of(connection) as seen:
                asked[name][0](connection)
            read = sum(_pages_read(connection, sql, parameters) for sql, parameters in seen)
            assert read < 600, (name, read)
