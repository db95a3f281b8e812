"""How long a beat of a loaded scheduler lasts: 10,000 DAGs, 3,000 of them scheduled, 2,000 running task instances.

Attempts end at a steady rate, each lets others of its run start, and new runs keep the number of running instances up.
Only beats that ran a duty count; statements are those of the scheduler's own connections.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event, insert

from bench import processes
from bench.paced import PacedExecutor
from bench.report import progress, quantile, report
from treadle import document as documents
from treadle.digest import digest
from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata import migration
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import RUNS, WAKE, Database, notify
from treadle_metadata.embedded_postgres import EmbeddedPostgres
from treadle_metadata.identifiers import month_of
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_metadata.tables import dag, dag_version
from treadle_metadata.transitions import runs
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop
from treadle_scheduler.waking import Scope

CHUNK = 1000
PERIOD_SECONDS = 0.2
TASKS = 15
WIDTH = 5
"""Tasks of one layer: what becomes ready when the layer above has ended."""


def main(options: list[str]) -> None:
    """Run the load and report the durations of beats and their statements."""
    parser = argparse.ArgumentParser(prog="python -m bench beat", description=__doc__)
    parser.add_argument("--dags", type=int, default=10_000)
    parser.add_argument("--scheduled", type=int, default=3_000)
    parser.add_argument("--running", type=int, default=2_000)
    parser.add_argument("--changes", type=int, default=100, help="attempts that end each second")
    parser.add_argument("--seconds", type=float, default=60)
    chosen = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as folder, EmbeddedPostgres(Path(folder) / "pg", "bench") as server:
        url = server.url("postgres")
        migration.migrate(url, datetime.now(UTC))
        settings = Settings(
            home=Path(folder),
            database_url=url,
            parallelism=chosen.running + 500,
            max_active_runs_per_dag=16,
            executor="paced",
        )
        figures = measure(settings, chosen)
    report("beat", vars(chosen), figures)


def measure(settings: Settings, chosen: argparse.Namespace) -> dict[str, float]:
    """Return the figures of one load."""
    database = Database(settings.database_url, application_name="scheduler", plan_once=True)
    outside = Database(settings.database_url, application_name="load")
    install_many(outside, chosen.dags, chosen.scheduled)
    executor = PacedExecutor(outside, settings, chosen.changes)
    loop = MeasuredLoop(Context(database, SystemClock(), settings, {"paced": executor}))
    load = Load(outside, executor, loop, chosen)
    executor.start(loop.wake)
    thread = threading.Thread(target=loop.run, name="loop")
    thread.start()
    try:
        load.fill(seconds=60)
        progress(f"{executor.held} instances run; measuring for {chosen.seconds:g} s")
        executor.pace()
        load.hold(seconds=min(10.0, chosen.seconds))
        loop.forget()
        before, busy = executor.ended, _backend_seconds(outside)
        load.hold(seconds=chosen.seconds)
        ended, busy = executor.ended - before, _backend_seconds(outside) - busy
    finally:
        loop.stop()
        thread.join()
        executor.end()
        outside.close()
        database.close()
    progress(f"{ended} attempts ended, {executor.held} are held")
    figures = loop.figures()
    return figures | {
        "database_cpu_ms": busy / figures["beats"] * 1000,
        "ended_per_s": ended / chosen.seconds,
        "running": executor.held,
    }


def _backend_seconds(database: Database) -> float:
    """Return the CPU seconds of the sessions that the scheduler has at this moment."""
    with database.begin() as connection:
        found = rows(connection, "SELECT pid FROM pg_stat_activity WHERE application_name = 'scheduler'")
    return processes.cpu_seconds([row["pid"] for row in found])


class MeasuredLoop(Loop):
    """A loop that notes how long each beat took and how many statements it ran."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._beats: list[tuple[float, float, int]] = []
        self._statements = 0
        event.listen(context.database.engine, "before_cursor_execute", self._count)

    def _count(self, *_: Any) -> None:
        self._statements += 1

    def beat(self) -> timedelta:
        """Run a beat and note it."""
        self._statements, began, worked = 0, time.perf_counter(), time.thread_time()
        wait = super().beat()
        if self._statements:
            self._beats.append((time.perf_counter() - began, time.thread_time() - worked, self._statements))
        return wait

    def forget(self) -> None:
        """Begin to measure anew."""
        self._beats = []

    def figures(self) -> dict[str, float]:
        """Return what was measured."""
        durations, cpu, statements = ([one[part] for one in self._beats] for part in range(3))
        return {
            "beats": len(durations),
            "p50_ms": quantile(durations, 0.5) * 1000,
            "p99_ms": quantile(durations, 0.99) * 1000,
            "longest_ms": max(durations) * 1000,
            "cpu_p50_ms": quantile(cpu, 0.5) * 1000,
            "statements_p50": quantile(statements, 0.5),
            "statements_mean": sum(statements) / len(statements),
            "statements_p99": quantile(statements, 0.99),
        }


def install_many(database: Database, number: int, scheduled: int) -> None:
    """Store ``number`` DAGs; the first ``scheduled`` of them run about every seven minutes, each at its own minute."""
    now = SystemClock().now()
    for first in range(0, number, CHUNK):
        made = [a_document(n, is_scheduled=n < scheduled) for n in range(first, min(first + CHUNK, number))]
        _store(database, made, now)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("UPDATE slot_pool SET slots = -1")
        connection.exec_driver_sql("VACUUM ANALYZE")


def a_document(number: int, *, is_scheduled: bool) -> DagDocument:
    """Return a DAG of three layers, each task waiting for the whole layer above."""
    tasks = []
    for one in range(TASKS):
        layer = one // WIDTH
        upstream = tuple(sorted(f"t{n}" for n in range((layer - 1) * WIDTH, layer * WIDTH))) if layer else ()
        tasks.append(TaskDocument(task_id=f"t{one}", operator="PythonOperator", upstream=upstream))
    schedule = ScheduleDocument(kind="cron", expressions=(f"{number % 8}-59/8 * * * *",), style="trigger")
    return DagDocument(
        dag_id=f"dag_{number:05}",
        tasks=tuple(tasks),
        schedule=schedule if is_scheduled else ScheduleDocument(kind="none"),
        start_date="2026-01-01T00:00:00+00:00",
    )


def _store(database: Database, made: Sequence[DagDocument], now: datetime) -> None:
    versions = [
        {
            "dag_id": one.dag_id,
            "number": 1,
            "hash": digest(one),
            "document": documents.to_json(one),
            "code": "",
            "file_hash": "",
            "created_at": now,
        }
        for one in made
    ]
    with database.begin() as connection:
        connection.execute(insert(dag_version), versions)
        found = rows(
            connection,
            "SELECT dag_id, id FROM dag_version WHERE dag_id = ANY(%(ids)s)",
            {"ids": [one.dag_id for one in made]},
        )
        ids = {row["dag_id"]: row["id"] for row in found}
        values = [
            {
                "dag_id": one.dag_id,
                "file": f"{one.dag_id}.py",
                "version_id": ids[one.dag_id],
                "is_paused": False,
                "created_at": now,
                "next_run_at": _first_time(int(one.dag_id[4:]), now) if one.schedule.kind != "none" else None,
            }
            for one in made
        ]
        connection.execute(insert(dag), values)


def _first_time(number: int, now: datetime) -> datetime:
    """Return the next minute at which DAG ``number`` is due."""
    minute = now.replace(second=0, microsecond=0)
    return minute + timedelta(minutes=(number - minute.minute - 1) % 8 + 1)


class Load:
    """Keeps the number of running instances up, by runs of the DAGs that have no schedule, in turn."""

    def __init__(self, database: Database, executor: PacedExecutor, loop: Loop, chosen: argparse.Namespace) -> None:
        self._database = database
        self._executor = executor
        self._loop = loop
        self._running: int = chosen.running
        with database.begin() as connection:
            found = rows(connection, "SELECT dag_id, version_id FROM dag WHERE next_run_at IS NULL ORDER BY dag_id")
        self._dags = itertools.cycle([(row["dag_id"], row["version_id"]) for row in found])
        self._number = 0

    def fill(self, seconds: float) -> None:
        """Wait until as many instances run as are wanted."""
        end = time.monotonic() + seconds
        while self._executor.held < self._running:
            if time.monotonic() > end:
                raise RuntimeError(f"only {self._executor.held} of {self._running} instances run after {seconds:g} s")
            self._top_up()
            time.sleep(PERIOD_SECONDS)

    def hold(self, seconds: float) -> None:
        """Make up for what ends, for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._top_up()
            time.sleep(PERIOD_SECONDS)

    def _top_up(self) -> None:
        now = SystemClock().now()
        with self._database.begin() as connection:
            new = [self._run(now) for _ in range(self._missing(connection) // WIDTH)]
            runs.insert_runs(connection, new, month=month_of(now), now=now)
            notify(connection, WAKE, RUNS)
        if new:
            self._loop.wake(Scope.RUNS)

    def _missing(self, connection: Connection) -> int:
        """Return how many instances are missing, when those have started that are about to."""
        coming = rows(
            connection,
            """
            SELECT (SELECT count(*) FROM dag_run WHERE state = 'queued') * %(width)s
                 + (SELECT count(*) FROM task_instance WHERE state = 'scheduled') AS n
            """,
            {"width": WIDTH},
        )
        return max(0, self._running - self._executor.held - int(coming[0]["n"]))

    def _run(self, now: datetime) -> dict[str, object]:
        dag_id, version = next(self._dags)
        self._number += 1
        return {
            "dag_id": dag_id,
            "run_id": f"load_{self._number}",
            "version_id": version,
            "run_type": "manual",
            "run_after": now,
            "triggered_by": "cli",
        }
