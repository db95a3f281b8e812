"""What a long past costs: hand-over, start lag of a schedule and throughput against an empty database, in turn.

``python -m bench history``: two installations side by side; one is given 16 million finished task instances of a
million runs in monthly partitions. They are measured in turn, first both empty (the control, which shows the noise),
then with the past in one of them. Ratios are medians over neighbouring measurements: above 1 the past costs something.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from statistics import median

from bench import loading, processes
from bench.installation import Installation, installed, wait_for
from bench.report import progress, report
from treadle_metadata import pausing
from treadle_metadata.identifiers import month_of

SOURCE = """
from treadle import DAG, chain, task
from treadle.timetables import CronTriggerTimetable

@task
def noop():
    return None

with DAG("chain", max_active_tasks=1000):
    chain(*(noop() for _ in range({chain})))

with DAG("wide", max_active_tasks=1000):
    for _ in range({wide}):
        noop()

with DAG("ticks", schedule=CronTriggerTimetable("* * * * * *", timezone="UTC"), catchup=False):
    noop()
"""
DAGS = ("chain", "wide", "ticks")
OTHERS = tuple(f"old_{number}" for number in range(97))

HANDOFFS_PER_ROUND = 4

Samples = dict[str, list[float]]


def main(options: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench history", description=__doc__)
    parser.add_argument("--instances", type=int, default=16_000_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--months", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--chain", type=int, default=20, help="tasks in the chain of the hand-over")
    parser.add_argument("--wide", type=int, default=150, help="tasks at once for the throughput")
    parser.add_argument("--ticks", type=float, default=6.0, help="seconds of the every-second schedule in a round")
    chosen = parser.parse_args(options)
    sources = {"bench": SOURCE.format(chain=chosen.chain, wide=chosen.wide)}
    with installed(sources) as empty, installed(sources) as full:
        for one in (empty, full):
            _prepare(one)
        control = compare(empty, full, chosen)
        past = loading.Past(chosen.runs, chosen.instances // chosen.runs, chosen.months, DAGS + OTHERS)
        began = time.perf_counter()
        loading.load(full.database, past, datetime.now(UTC))
        figures = {"load_s": time.perf_counter() - began, **_sizes(full)}
        figures |= ratios(compare(empty, full, chosen), "")
    report("history", vars(chosen), figures | ratios(control, "control_"))


def compare(empty: Installation, full: Installation, chosen: argparse.Namespace) -> tuple[Samples, Samples]:
    """Measure both in turn, one thing at a time; the first round warms and does not count."""
    found: tuple[Samples, Samples] = (defaultdict(list), defaultdict(list))
    measures: list[Callable[[Installation], Mapping[str, float]]] = [_handoff] * HANDOFFS_PER_ROUND
    measures += [lambda one: _throughput(one, chosen.wide), lambda one: _lag(one, chosen.ticks)]
    for number in range(chosen.rounds + 1):
        for position, measure in enumerate(measures):
            pairs = list(zip((empty, full), found, strict=True))
            for installation, samples in pairs if (number + position) % 2 else reversed(pairs):
                for name, value in measure(installation).items():
                    if number:
                        samples[name].append(value)
    return found


def ratios(samples: tuple[Samples, Samples], prefix: str) -> dict[str, float]:
    """Return the medians of both, and the median of the ratios of what was measured one right after the other."""
    figures: dict[str, float] = {}
    for name in samples[0]:
        pairs = list(zip(samples[0][name], samples[1][name], strict=True))
        figures[f"{prefix}{name.removesuffix('_ms')}_ratio"] = median(full / empty for empty, full in pairs)
        for one, which in zip(samples, ("empty", "full"), strict=True):
            figures[f"{prefix}{name.removesuffix('ms')}{which}_ms"] = median(one[name])
    for name, value in figures.items():
        progress(f"{name:30} {value:.3f}")
    return figures


def _handoff(installation: Installation) -> Mapping[str, float]:
    """Return the median gap between the tasks of one chain."""
    gaps = installation.select(
        """
        SELECT extract(epoch FROM started_at - lag(ended_at) OVER (ORDER BY started_at)) * 1000 AS ms
        FROM task_instance WHERE dag_run_id = %(run)s AND month = %(month)s
        """,
        run=_run(installation, "chain"),
        month=month_of(datetime.now(UTC)),
    )
    return {"handoff_ms": median(float(gap["ms"]) for gap in gaps if gap["ms"] is not None)}


def _throughput(installation: Installation, tasks: int) -> Mapping[str, float]:
    """Return the time and the CPU of everything, per task of a wide run."""
    began, cpu = time.perf_counter(), _cpu(installation)
    _run(installation, "wide")
    seconds = time.perf_counter() - began
    return {"task_ms": seconds * 1000 / tasks, "task_cpu_ms": (_cpu(installation) - cpu) * 1000 / tasks}


def _prepare(installation: Installation) -> None:
    for dag_id in DAGS:
        installation.wait_for_dag(dag_id)
    _pause(installation, paused=True)


def _pause(installation: Installation, *, paused: bool) -> None:
    with installation.database.begin() as connection:
        pausing.set_paused(connection, ["ticks"], paused, now=datetime.now(UTC))


def _run(installation: Installation, dag_id: str) -> int:
    """Run a DAG once and wait for its end."""
    run = installation.trigger(dag_id)
    state = "SELECT state FROM dag_run WHERE id = %(run)s AND state NOT IN ('queued', 'running')"
    wait_for(lambda: installation.select(state, run=run), 60, interval=0.01)
    return run


def _lag(installation: Installation, seconds: float) -> Mapping[str, float]:
    """Let the every-second schedule run for a while; return the median of how late its tasks started (case B1)."""
    since = datetime.now(UTC)
    _pause(installation, paused=False)
    time.sleep(seconds)
    _pause(installation, paused=True)
    # A run that was under way at the pause goes on in the next round, and is not counted there.
    running = "SELECT FROM task_instance WHERE state IN ('queued', 'running') AND month = %(month)s"
    wait_for(lambda: not installation.select(running, month=month_of(since)), 30, interval=0.05)
    lags = installation.select(
        """
        SELECT extract(epoch FROM instance.started_at - run.run_after) * 1000 AS ms
        FROM dag_run AS run JOIN task_instance AS instance
             ON instance.dag_run_id = run.id AND instance.month = run.month
        WHERE run.dag_id = 'ticks' AND run.run_after >= %(since)s AND run.state = 'success'
          AND instance.month = %(month)s
        """,
        since=since,
        month=month_of(since),
    )
    return {"lag_ms": median(float(one["ms"]) for one in lags)}


def _cpu(installation: Installation) -> float:
    ours, postgres = installation.pids()
    return processes.cpu_seconds(ours + postgres)


def _sizes(installation: Installation) -> dict[str, float]:
    """Return what was loaded."""
    counts = "SELECT (SELECT count(*) FROM dag_run) AS runs, (SELECT count(*) FROM task_instance) AS instances"
    counts += ", (SELECT count(*) FROM task_attempt) AS attempts, pg_database_size(current_database()) AS bytes"
    row = installation.select(counts)[0]
    return {name: float(row[name]) for name in ("runs", "instances", "attempts")} | {"database_gb": row["bytes"] / 1e9}
