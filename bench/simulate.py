"""A month of 100 DAGs in virtual time: the scheduler's own loop, from definitions to the report's figures.

Of 20 DAGs 18 are daily, one runs each six hours and one weekly (``--busy``: 12 daily, 5 each six hours, 2 hourly, one
weekly). They have 3 to 12 tasks in random graphs, in four pools; most start at night.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.report import progress, report
from treadle.document import DagDocument, ScheduleDocument, TaskDocument
from treadle_metadata import migration
from treadle_metadata.embedded_postgres import EmbeddedPostgres
from treadle_metadata.settings import Settings
from treadle_scheduler.simulation.definitions import Definitions
from treadle_scheduler.simulation.driver import Plan, Simulation
from treadle_scheduler.simulation.durations import Durations, TaskFacts
from treadle_scheduler.simulation.grid import step_for
from treadle_scheduler.simulation.report import executor_usage, pool_usage
from treadle_scheduler.simulation.session import Session

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
POOLS = {"default_pool": 64, "warehouse": 8, "reports": 4, "api": 16}


def main(options: list[str]) -> None:
    """Simulate and report the seconds that it takes."""
    parser = argparse.ArgumentParser(prog="python -m bench simulate", description=__doc__)
    parser.add_argument("--dags", type=int, default=100)
    parser.add_argument("--days", type=int, default=31)
    parser.add_argument("--slots", type=int, default=32)
    parser.add_argument("--resolution", type=float, default=None)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(options)
    source = random.Random(chosen.seed)
    documents = [_document(number, source, chosen.busy) for number in range(chosen.dags)]
    facts = {(one.dag_id, task.task_id): TaskFacts(_seconds(source)) for one in documents for task in one.tasks}
    with tempfile.TemporaryDirectory() as folder, EmbeddedPostgres(Path(folder) / "pg", "bench") as server:
        settings = Settings(home=Path(folder), parallelism=chosen.slots)
        began = time.perf_counter()
        migration.migrate(server.url(), BEGIN)
        session = Session(server.url())
        plan = Plan(
            begin=BEGIN,
            end=BEGIN + timedelta(days=chosen.days),
            durations=Durations(tasks=facts),
            resolution=step_for(timedelta(days=chosen.days)) if chosen.resolution is None else chosen.resolution,
        )
        simulation = Simulation(session, settings, Definitions.of(*documents, pools=POOLS), plan)
        result = simulation.run()
        session.close()
        pools = pool_usage(result)
        seconds = time.perf_counter() - began
    busy = max(pools, key=lambda one: one.by_hour[one.busiest_hour] / one.slots)
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN)
    progress(f"busiest pool {busy.name}: {busy.peak} of {busy.slots} slots, {executor_usage(result).peak} at once")
    figures = {
        "seconds": seconds,
        "runs": len(result.runs),
        "attempts": len(result.tasks),
        "instants": simulation.instants,
        "ms_per_instant": seconds / simulation.instants * 1000,
        "attempts_per_s": len(result.tasks) / seconds,
        "own_cpu_s": time.process_time(),
        "postgres_cpu_s": of_children.ru_utime + of_children.ru_stime,
        "unfinished": sum(run.ended_at is None for run in result.runs),
    }
    report("simulate", vars(chosen), figures)


def _document(number: int, source: random.Random, busy: bool) -> DagDocument:
    hour, minute = source.choice((0, 0, 1, 2, 3, 4, 5, 6, 12)), source.choice((0, 0, 0, 15, 30, 45))
    weekly, six_hourly, hourly = f"{minute} {hour} * * 1", f"{minute} */6 * * *", f"{minute} * * * *"
    others = [weekly, hourly, hourly, *[six_hourly] * 5] if busy else [weekly, six_hourly]
    share = 19 - number % 20
    expression = others[share] if share < len(others) else f"{minute} {hour} * * *"
    tasks = []
    for position in range(source.randint(3, 12)):
        above = source.sample(range(position), min(position, source.randint(0, 2)))
        tasks.append(
            TaskDocument(
                f"t{position}",
                upstream=tuple(sorted(f"t{one}" for one in above)),
                pool=source.choice(("default_pool", "default_pool", "default_pool", *POOLS)),
            )
        )
    schedule = ScheduleDocument(kind="cron", expressions=(expression,))
    return DagDocument(f"dag{number}", tasks=tuple(tasks), schedule=schedule, start_date="2026-01-01T00:00:00+00:00")


def _seconds(source: random.Random) -> float:
    return float(round(min(7200.0, source.lognormvariate(4.8, 1.0)), 1))
