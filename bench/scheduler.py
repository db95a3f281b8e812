"""The scheduler alone: runs of no-op tasks with an executor that ends every attempt at once.

Two shapes: ``flat`` (all tasks independent) and ``joined`` (four layers, each fully joined to the next). With
``--processes`` several schedulers, each a process of its own, share the work.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

from bench.documents import install
from bench.instant import InstantExecutor
from bench.report import progress, report
from treadle.document import DagDocument, TaskDocument
from treadle_metadata import migration, runs
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.embedded_postgres import EmbeddedPostgres
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop
from treadle_scheduler.main import Listener


def main(options: list[str]) -> None:
    """Run both shapes and report task instances per second."""
    parser = argparse.ArgumentParser(prog="python -m bench scheduler", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--dags", type=int, default=1, help="DAGs that the runs are spread over")
    parser.add_argument("--processes", type=int, default=1, help="schedulers")
    parser.add_argument("--shape", choices=("flat", "joined", "both"), default="both")
    chosen = parser.parse_args(options)
    shapes = ("flat", "joined") if chosen.shape == "both" else (chosen.shape,)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, EmbeddedPostgres(Path(folder) / "pg", "bench") as server:
        database = Database(server.url("postgres"), plan_once=True)
        migration.migrate(database.url, datetime.now(UTC))
        settings = Settings(
            home=Path(folder),
            database_url=database.url,
            parallelism=10_000,
            max_active_runs_per_dag=10_000,
            max_active_tasks_per_dag=10_000,
            executor="instant",
        )
        for shape in shapes:
            seconds, statements = measure(database, settings, shape, chosen)
            figures[f"{shape}_instances_per_s"] = chosen.runs * chosen.tasks / seconds
            figures[f"{shape}_transactions_per_task"] = statements / (chosen.runs * chosen.tasks)
        database.close()
    if len(shapes) == 2:
        figures["instances_per_s"] = min(figures["flat_instances_per_s"], figures["joined_instances_per_s"])
    report("scheduler", vars(chosen), figures)


def measure(database: Database, settings: Settings, shape: str, chosen: argparse.Namespace) -> tuple[float, float]:
    """Return the seconds and the database transactions from the first trigger to the last run's end."""
    clock = SystemClock()
    documents = [shaped(f"{shape}_{number}", shape, chosen.tasks) for number in range(chosen.dags)]
    with database.begin() as connection:
        execute(connection, "UPDATE slot_pool SET slots = -1")
        for document in documents:
            install(connection, document, now=clock.now())
    with schedulers(settings, chosen.processes):
        before = _transactions(database)
        started = time.perf_counter()
        with database.begin() as connection:
            for number in range(chosen.runs):
                dag_id = documents[number % len(documents)].dag_id
                runs.trigger_run(connection, dag_id, triggered_by="cli", now=clock.now())
        while _unfinished(database):
            time.sleep(0.005)
        seconds = time.perf_counter() - started
    progress(f"{shape}: {chosen.runs} runs of {chosen.tasks} tasks in {seconds:.2f} s")
    return seconds, _transactions(database) - before


@contextmanager
def schedulers(settings: Settings, number: int) -> Iterator[None]:
    """Run ``number`` scheduler processes while the block runs; they look at the database before it begins."""
    spawning = multiprocessing.get_context("spawn")
    stop, ready = spawning.Event(), spawning.Barrier(number + 1)
    children = [spawning.Process(target=_schedule, args=(settings, stop, ready)) for _ in range(number)]
    for child in children:
        child.start()
    try:
        ready.wait(30)
        yield
    finally:
        stop.set()
        for child in children:
            child.join(10)


def _schedule(settings: Settings, stop: Event, ready: Barrier) -> None:
    """Be one scheduler, until told to stop."""
    database = Database(settings.database_url, plan_once=True)
    executor = InstantExecutor(database, settings)
    loop = Loop(Context(database, SystemClock(), settings, {"instant": executor}))
    executor.start(loop.wake)
    loop.beat()
    listener = Listener(database, loop, {})
    listener.start()
    thread = threading.Thread(target=loop.run)
    thread.start()
    ready.wait(30)
    stop.wait()
    loop.stop()
    listener.stop()
    thread.join()
    database.close()


def shaped(name: str, shape: str, tasks: int) -> DagDocument:
    """Return the document of one shape."""
    width = tasks if shape == "flat" else max(1, tasks // 4)
    made = []
    for number in range(tasks):
        layer = number // width
        upstream = tuple(sorted(f"t{one}" for one in range((layer - 1) * width, layer * width))) if layer else ()
        made.append(TaskDocument(task_id=f"t{number}", operator="PythonOperator", upstream=upstream))
    return DagDocument(dag_id=f"bench_{name}", tasks=tuple(made))


def _unfinished(database: Database) -> int:
    with database.begin() as connection:
        return len(rows(connection, "SELECT 1 FROM dag_run WHERE state IN ('queued', 'running') LIMIT 1"))


def _transactions(database: Database) -> float:
    database.close()  # A backend tells its numbers when it ends.
    time.sleep(0.2)
    with database.begin() as connection:
        found = rows(connection, "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
    return float(found[0]["xact_commit"])
