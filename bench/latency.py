"""From POST of a one-task run to the start of its task and to the success of the run, on an idle system."""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from typing import Any

from bench.installation import Installation, installed, wait_for
from bench.report import quantile, report

SOURCE = """
from treadle import DAG, task

with DAG("bench"):
    @task
    def noop():
        return None

    noop()
"""


def main(options: list[str]) -> None:
    """Trigger runs one after another over the REST API."""
    parser = argparse.ArgumentParser(prog="python -m bench latency", description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    chosen = parser.parse_args(options)
    with installed({"bench": SOURCE}) as installation:
        installation.wait_for_dag("bench")
        samples = [sample(installation) for _ in range(chosen.runs + 3)][3:]
    starts, ends = [one[0] for one in samples], [one[1] for one in samples]
    report(
        "latency",
        vars(chosen),
        {
            "start_p50_ms": quantile(starts, 0.5),
            "start_p95_ms": quantile(starts, 0.95),
            "success_p50_ms": quantile(ends, 0.5),
            "success_p95_ms": quantile(ends, 0.95),
        },
    )


def sample(installation: Installation) -> tuple[float, float]:
    """Return the milliseconds from just before the POST to the task's start and to the run's end, by one clock."""
    posted = datetime.now(UTC)
    run = installation.post("/api/v2/dags/bench/dagRuns", {"logical_date": None})

    def ended() -> list[Any]:
        return installation.select(
            """
            SELECT run.ended_at, instance.started_at FROM dag_run AS run
            JOIN task_instance AS instance ON instance.dag_run_id = run.id
            WHERE run.run_id = %(run_id)s AND run.state = 'success'
            """,
            run_id=run["dag_run_id"],
        )

    wait_for(ended, 30, interval=0.02)
    row = ended()[0]
    time.sleep(0.05)
    return (row["started_at"] - posted).total_seconds() * 1000, (row["ended_at"] - posted).total_seconds() * 1000
