"""One large run: 10,000 tasks side by side, in a chain, in full layers, as instances of one mapped task; mapped groups.

``wide``, ``chain``, ``layers`` (100 layers of 100 tasks, each joined to all of the next: a million edges) and
``mapped`` use an executor that ends every attempt at once. ``group`` is case B3: a group of five chained tasks mapped
over ``--items``, each task lasting ``--seconds``, 32 slots; its figure is the parallelism that the run really had.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.documents import install
from bench.instant import InstantExecutor
from bench.report import progress, report
from bench.timed import TimedExecutor
from treadle.document import DagDocument, ExpandArgument, ExpandDocument, GroupDocument, TaskDocument
from treadle_executors.executor import Executor
from treadle_metadata import migration, runs
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.embedded_postgres import EmbeddedPostgres
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.context import Context
from treadle_scheduler.loop import Loop

SHAPES = ("wide", "chain", "layers", "mapped", "group")
CHAINED = 5
SLOTS = 32


def main(options: list[str]) -> None:
    """Run the chosen shapes and report their figures."""
    parser = argparse.ArgumentParser(prog="python -m bench bigrun", description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, action="append", help="may be given several times; default: all")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--items", type=int, action="append", help="lengths of the mapped group; default: 100 and 500")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each task of the mapped group lasts")
    chosen = parser.parse_args(options)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, EmbeddedPostgres(Path(folder) / "pg", "bench") as server:
        database = Database(server.url("postgres"), plan_once=True)
        migration.migrate(database.url, datetime.now(UTC))
        with database.begin() as connection:
            execute(connection, "UPDATE slot_pool SET slots = -1")
        settings = Settings(
            home=Path(folder),
            database_url=database.url,
            parallelism=chosen.tasks,
            max_active_tasks_per_dag=chosen.tasks,
            executor="instant",
        )
        for shape in chosen.shape or SHAPES:
            if shape == "group":
                for items in chosen.items or (100, 500):
                    figures |= grouped(database, settings, items, chosen.seconds)
            else:
                figures |= instant(database, settings, shape, chosen.tasks)
        database.close()
    report("bigrun", vars(chosen), figures)


def instant(database: Database, settings: Settings, shape: str, tasks: int) -> dict[str, float]:
    """Run one shape with an executor that ends every attempt at once."""
    executor = InstantExecutor(database, settings)
    used = time.process_time()
    seconds, beats = measure(database, settings, executor, shaped(shape, tasks))
    used = time.process_time() - used
    progress(f"{shape}: {tasks} instances in {seconds:.2f} s, {len(beats)} beats, the longest {max(beats):.2f} s")
    return {
        f"{shape}_instances_per_s": tasks / seconds,
        f"{shape}_beats": len(beats),
        f"{shape}_cpu_ms_per_instance": used * 1000 / tasks,
        f"{shape}_longest_beat_ms": max(beats) * 1000,
    }


def grouped(database: Database, settings: Settings, items: int, seconds: float) -> dict[str, float]:
    """Run a mapped group of chained tasks with attempts that last (case B3)."""
    settings = replace(settings, parallelism=SLOTS, executor="timed")
    executor = TimedExecutor(database, settings, seconds)
    used = time.process_time()
    elapsed, beats = measure(database, settings, executor, shaped("group", items))
    used = time.process_time() - used
    executor.end()
    parallelism = items * CHAINED * seconds / elapsed
    progress(f"group of {items}: {elapsed:.1f} s, parallelism {parallelism:.1f}, {sum(beats):.1f} s in beats")
    return {
        f"group_{items}_parallelism": parallelism,
        f"group_{items}_beat_ms_per_instance": sum(beats) * 1000 / (items * CHAINED),
        f"group_{items}_cpu_ms_per_instance": used * 1000 / (items * CHAINED),
    }


class TimedLoop(Loop):
    """A loop that notes how long its beats take, in seconds, and ends with the last run."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.beats: list[float] = []

    def beat(self) -> timedelta:
        """Run one beat."""
        started = time.perf_counter()
        wait = super().beat()
        self.beats.append(time.perf_counter() - started)
        if self._call.is_pending:
            return wait
        with self.context.database.begin() as connection:
            if not rows(connection, "SELECT 1 FROM dag_run WHERE state IN ('queued', 'running') LIMIT 1"):
                self.stop()
        return wait


def measure(
    database: Database, settings: Settings, executor: Executor, document: DagDocument
) -> tuple[float, list[float]]:
    """Make one run; return the seconds until it has ended, and those of each beat."""
    clock = SystemClock()
    context = Context(database, clock, settings, {executor.name: executor})
    with database.begin() as connection:
        install(connection, document, now=clock.now())
    Loop(context).beat()
    loop = TimedLoop(context)
    executor.start(loop.wake)
    started = time.perf_counter()
    with database.begin() as connection:
        runs.trigger_run(connection, document.dag_id, triggered_by="cli", now=clock.now())
    loop.run()
    return time.perf_counter() - started, loop.beats


def shaped(shape: str, size: int) -> DagDocument:
    """Return the document of one shape."""
    if shape == "group":
        return _group(size)
    if shape == "mapped":
        expand = ExpandDocument("product", (ExpandArgument("x", length=size),))
        return DagDocument("mapped", tasks=(TaskDocument("each", operator="PythonOperator", expand=expand),))
    made = []
    width = max(1, round(size**0.5)) if shape == "layers" else 1
    names = [f"t{number:05d}" for number in range(size)]
    layers = [tuple(names[start : start + width]) for start in range(0, size, width)]
    for number, name in enumerate(names):
        above = layers[number // width - 1] if shape != "wide" and number >= width else ()
        made.append(TaskDocument(name, operator="PythonOperator", upstream=above))
    return DagDocument(shape, tasks=tuple(made))


def _group(items: int) -> DagDocument:
    expand = ExpandDocument("product", (ExpandArgument("x", length=items),))
    names = [f"g.t{number}" for number in range(CHAINED)]
    tasks = tuple(
        TaskDocument(name, operator="PythonOperator", group_id="g", upstream=tuple(names[max(0, number - 1) : number]))
        for number, name in enumerate(names)
    )
    return DagDocument(f"group_{items}", tasks=tasks, groups=(GroupDocument("g", expand=expand),))
