"""A year of daily runs is filled with an instant executor while another DAG keeps its time.

The live DAG is due every ``--every`` seconds, since a minutely one would be due once at most in so short a time.
Measured: the seconds until the last instance of the backfill has ended, and the start lag of the live DAG, from the
moment its run is due until its task starts.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.documents import install
from bench.instant import InstantExecutor
from bench.report import progress, quantile, report
from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata import backfills, migration
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.embedded_postgres import EmbeddedPostgres
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop
from treadle_scheduler.main import Listener

LAYER = 5
"""Tasks that become ready together: each waits for all of the layer above."""


def main(options: list[str]) -> None:
    """Fill the year and report the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench backfill", description=__doc__)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--tasks", type=int, default=15)
    parser.add_argument("--active", type=int, default=50, help="runs of the backfill at once")
    parser.add_argument("--parallelism", type=int, default=256)
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two runs of the live DAG")
    chosen = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as folder, EmbeddedPostgres(Path(folder) / "pg", "bench") as server:
        url = server.url("postgres")
        migration.migrate(url, datetime.now(UTC))
        settings = Settings(home=Path(folder), database_url=url, parallelism=chosen.parallelism, executor="instant")
        report("backfill", vars(chosen), measure(settings, chosen))


def measure(settings: Settings, chosen: argparse.Namespace) -> dict[str, float]:
    """Return the figures of one backfill."""
    database = Database(settings.database_url, application_name="scheduler", plan_once=True)
    outside = Database(settings.database_url, application_name="load")
    with outside.begin() as connection:
        execute(connection, "UPDATE slot_pool SET slots = -1")
        install(connection, filled(chosen), now=datetime.now(UTC))
        install(connection, live(chosen), now=datetime.now(UTC), next_run_at=datetime.now(UTC))
    executor = InstantExecutor(outside, settings)
    loop = Loop(Context(database, SystemClock(), settings, {"instant": executor}))
    executor.start(loop.wake)
    listener = Listener(database, loop, {"instant": executor})
    thread = threading.Thread(target=loop.run, name="loop")
    listener.start()
    thread.start()
    try:
        time.sleep(2 * chosen.every)
        seconds, made = fill(outside, chosen)
        lags = start_lags(outside, made)
    finally:
        loop.stop()
        thread.join()
        listener.stop()
    number = chosen.days * chosen.tasks
    progress(f"{number} instances in {seconds:.2f} s; {len(lags)} live runs meanwhile")
    return {
        "seconds": seconds,
        "instances_per_s": number / seconds,
        "live_lag_p50_s": quantile(lags, 0.5),
        "live_lag_max_s": max(lags),
        "live_runs": len(lags),
    }


def fill(database: Database, chosen: argparse.Namespace) -> tuple[float, datetime]:
    """Make the backfill; return the seconds until it is over, and when it was made."""
    now = datetime.now(UTC)
    last = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    first = last - timedelta(days=chosen.days - 1)
    started = time.perf_counter()
    with database.begin() as connection:
        made = backfills.create(connection, "filled", first, last, max_active_runs=chosen.active, now=now)
    if len(made.planned) != chosen.days:
        raise RuntimeError(f"the backfill has {len(made.planned)} dates, expected {chosen.days}")
    while _left(database):
        time.sleep(0.02)
    return time.perf_counter() - started, now


def _left(database: Database) -> bool:
    with database.begin() as connection:
        return bool(
            rows(
                connection,
                "SELECT FROM dag_run WHERE dag_id = 'filled' AND state IN ('queued', 'running') LIMIT 1",
            )
        )


def start_lags(database: Database, since: datetime) -> list[float]:
    """Return the seconds from due to start of each run of the live DAG since the backfill was made."""
    with database.begin() as connection:
        found = rows(
            connection,
            """
            SELECT extract(epoch FROM instance.started_at - run.run_after)::float8 AS lag
            FROM dag_run AS run JOIN task_instance AS instance ON instance.dag_run_id = run.id
            WHERE run.dag_id = 'live' AND run.run_after >= %(since)s AND instance.started_at IS NOT NULL
            """,
            {"since": since},
        )
    if not found:
        raise RuntimeError("no run of the live DAG was due: fill more days, or let it be due more often")
    return [row["lag"] for row in found]


def filled(chosen: argparse.Namespace) -> DagDocument:
    """Return the daily DAG that is filled: layers of five, each joined to the next."""
    tasks = tuple(
        TaskDocument(
            task_id=f"t{number:02}",
            operator="PythonOperator",
            upstream=tuple(f"t{one:02}" for one in range((number // LAYER - 1) * LAYER, number // LAYER * LAYER))
            if number >= LAYER
            else (),
        )
        for number in range(chosen.tasks)
    )
    daily = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), style="trigger")
    return DagDocument(dag_id="filled", tasks=tasks, schedule=daily, start_date="2000-01-01T00:00:00+00:00")


def live(chosen: argparse.Namespace) -> DagDocument:
    """Return the DAG that is to keep its time."""
    often = ScheduleDocument(kind="delta", seconds=chosen.every, style="trigger")
    return DagDocument(
        dag_id="live",
        tasks=(TaskDocument(task_id="tick", operator="PythonOperator"),),
        schedule=often,
        start_date="2026-01-01T00:00:00+00:00",
        catchup=False,
    )
