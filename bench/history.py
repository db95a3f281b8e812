"""What a long past costs: hand-over, start lag of a schedule and throughput against an empty database, in turn.

``python -m bench history``: two installations side by side; one is given 16 million finished task instances of a
million runs in monthly partitions. They are measured in turn, first both empty (the control, which shows the noise),
then with the past in one of them. Ratios are of medians: above 1 the past costs something.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from bench import loading, processes
from bench.installation import Installation, installed, wait_for
from bench.report import progress, quantile, report
from treadle_metadata import pausing

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
    """Measure both in turn; the first round warms and does not count."""
    found: tuple[Samples, Samples] = (defaultdict(list), defaultdict(list))
    for number in range(chosen.rounds + 1):
        pairs = list(zip((empty, full), found, strict=True))
        for installation, samples in reversed(pairs) if number % 2 else pairs:
            measured = measure(installation, chosen)
            if number:
                for name, values in measured.items():
                    samples[name] += values
    return found


def measure(installation: Installation, chosen: argparse.Namespace) -> Mapping[str, Sequence[float]]:
    """Return one round's samples of one installation."""
    chain = _run(installation, "chain")
    began, cpu = time.perf_counter(), _cpu(installation)
    _run(installation, "wide")
    seconds, used = time.perf_counter() - began, _cpu(installation) - cpu
    lags = _ticks(installation, chosen.ticks)
    gaps = installation.select(
        """
        SELECT extract(epoch FROM started_at - lag(ended_at) OVER (ORDER BY started_at)) * 1000 AS ms
        FROM task_instance WHERE dag_run_id = %(run)s AND month = (SELECT month FROM dag_run WHERE id = %(run)s)
        """,
        run=chain,
    )
    return {
        "handoff_ms": [float(gap["ms"]) for gap in gaps if gap["ms"] is not None],
        "lag_ms": lags,
        "task_ms": [seconds * 1000 / chosen.wide],
        "task_cpu_ms": [used * 1000 / chosen.wide],
    }


def ratios(samples: tuple[Samples, Samples], prefix: str) -> dict[str, float]:
    """Return the medians of both and the ratio of the second to the first."""
    figures: dict[str, float] = {}
    for name in samples[0]:
        empty, full = (quantile(one[name], 0.5) for one in samples)
        figures[f"{prefix}{name.removesuffix('_ms')}_ratio"] = full / empty
        figures |= {
            f"{prefix}{name.removesuffix('ms')}empty_ms": empty,
            f"{prefix}{name.removesuffix('ms')}full_ms": full,
        }
    for name, value in figures.items():
        progress(f"{name:30} {value:.3f}")
    return figures


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


def _ticks(installation: Installation, seconds: float) -> list[float]:
    """Let the every-second schedule run for a while; return how late each of its tasks started."""
    since = datetime.now(UTC)
    _pause(installation, paused=False)
    time.sleep(seconds)
    _pause(installation, paused=True)
    running = "SELECT FROM dag_run WHERE state = 'running'"
    wait_for(lambda: not installation.select(running), 30, interval=0.05)
    # A run that was made but not started before the pause starts with the next round and is not counted there.
    lags = installation.select(
        """
        SELECT extract(epoch FROM instance.started_at - run.run_after) * 1000 AS ms
        FROM dag_run AS run JOIN task_instance AS instance
             ON instance.dag_run_id = run.id AND instance.month = run.month
        WHERE run.dag_id = 'ticks' AND run.run_after >= %(since)s AND run.state = 'success'
        """,
        since=since,
    )
    return [float(one["ms"]) for one in lags]


def _cpu(installation: Installation) -> float:
    ours, postgres = installation.pids()
    return processes.cpu_seconds(ours + postgres)


def _sizes(installation: Installation) -> dict[str, float]:
    """Return what was loaded."""
    counts = "SELECT (SELECT count(*) FROM dag_run) AS runs, (SELECT count(*) FROM task_instance) AS instances"
    counts += ", (SELECT count(*) FROM task_attempt) AS attempts, pg_database_size(current_database()) AS bytes"
    row = installation.select(counts)[0]
    return {name: float(row[name]) for name in ("runs", "instances", "attempts")} | {"database_gb": row["bytes"] / 1e9}
