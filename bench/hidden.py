"""A thousand tasks that may not start stand before one that may: it starts in the next beat.

They wait behind a full pool, behind the caps of runs and tasks, and in runs that wait for the limits of their DAGs, and
all weigh more than the one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.documents import install
from bench.paced import PacedExecutor
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
from treadle_scheduler.waking import Scope

WEIGHT = 1000


def main(options: list[str]) -> None:
    """Report how many beats, and milliseconds, the one task takes to be queued."""
    parser = argparse.ArgumentParser(prog="python -m bench hidden", description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000, help="tasks that wait behind each kind of limit")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(options)
    with tempfile.TemporaryDirectory() as folder, EmbeddedPostgres(Path(folder) / "pg", "bench") as server:
        url = server.url("postgres")
        migration.migrate(url, datetime.now(UTC))
        settings = Settings(
            home=Path(folder), database_url=url, parallelism=chosen.tasks, executor="paced", runs_per_beat=500
        )
        figures = measure(settings, chosen.tasks, chosen.rounds)
    report("hidden", vars(chosen), figures)


def measure(settings: Settings, tasks: int, rounds: int) -> dict[str, float]:
    """Return the figures."""
    database, outside = Database(settings.database_url, plan_once=True), Database(settings.database_url)
    executor = PacedExecutor(outside, settings, ends_per_second=0)
    loop = Loop(Context(database, SystemClock(), settings, {"paced": executor}))
    executor.start(loop.wake)
    _fill(database, loop, tasks)
    _look(loop)
    waiting = _number(database, "state = 'scheduled'")
    progress(f"{waiting} tasks wait, {_number(database, '''state IN ('queued', 'running')''')} run")
    with database.begin() as connection:
        install(connection, DagDocument("other", tasks=(TaskDocument("t", weight_rule="absolute"),)), now=_now())
    beats, seconds = [], []
    for number in range(rounds):
        with database.begin() as connection:
            runs.trigger_run(connection, "other", triggered_by="cli", now=_now())
        began, count = time.perf_counter(), 0
        while _number(database, "dag_id = 'other' AND attempt_id IS NOT NULL") <= number:
            loop.wake(Scope.EVERYTHING)
            loop.beat()
            count += 1
        seconds.append(time.perf_counter() - began)
        beats.append(count)
    executor.end()
    outside.close()
    database.close()
    return {"waiting": waiting, "most_beats": max(beats), "longest_ms": max(seconds) * 1000}


def _fill(database: Database, loop: Loop, tasks: int) -> None:
    """Make what waits: a full pool, runs and a task at their caps, and a DAG at its run limit."""
    with database.begin() as connection:
        execute(connection, "INSERT INTO slot_pool (name, slots) VALUES ('full', 1)")
        execute(connection, "UPDATE slot_pool SET slots = -1 WHERE name = 'default_pool'")
        pool = tuple(_task(number, pool="full") for number in range(tasks))
        caps = tuple(_task(number) for number in range(10))
        documents = [
            DagDocument("in_pool", tasks=pool),
            DagDocument("at_run_cap", tasks=caps, max_active_tasks=1, max_active_runs=tasks),
            DagDocument("at_task_cap", tasks=(_task(0, max_active_tis_per_dag=1),), max_active_runs=tasks),
            DagDocument("at_run_limit", tasks=(_task(0),), max_active_runs=1),
        ]
        for document in documents:
            install(connection, document, now=_now())
    _trigger(database, {"in_pool": 1, "at_run_cap": tasks // 10, "at_task_cap": tasks, "at_run_limit": tasks})
    _look(loop)


def _task(number: int, **changes: Any) -> TaskDocument:
    return TaskDocument(f"t{number}", priority_weight=WEIGHT, **changes)


def _trigger(database: Database, numbers: dict[str, int]) -> None:
    with database.begin() as connection:
        for dag_id, number in numbers.items():
            for _ in range(number):
                runs.trigger_run(connection, dag_id, triggered_by="cli", now=_now())


def _look(loop: Loop) -> None:
    """Run beats until all that may start has started."""
    states: Sequence[object] = ()
    while True:
        loop.wake(Scope.EVERYTHING)
        loop.beat()
        with loop.context.database.begin() as connection:
            now = rows(connection, "SELECT state, count(*) FROM task_instance GROUP BY state ORDER BY state")
        found = [tuple(row.values()) for row in now]
        if found == states:
            return
        states = found


def _number(database: Database, condition: str) -> int:
    with database.begin() as connection:
        found = rows(connection, f"SELECT count(*) AS n FROM task_instance WHERE {condition}")
    return int(found[0]["n"])


def _now() -> datetime:
    return SystemClock().now()
