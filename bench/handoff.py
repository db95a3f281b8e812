"""From the end of one task to the start of the next, in chains on an idle system."""

from __future__ import annotations

import argparse

from bench.installation import installed
from bench.report import quantile, report

SOURCE = """
from treadle import DAG, chain, task

with DAG("bench"):
    @task
    def noop():
        return None

    chain(*(noop() for _ in range({tasks})))
"""


def main(options: list[str]) -> None:
    """Run chains one after another and report the gaps between their tasks."""
    parser = argparse.ArgumentParser(prog="python -m bench handoff", description=__doc__)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args(options)
    with installed({"bench": SOURCE.format(tasks=chosen.tasks)}) as installation:
        installation.wait_for_dag("bench")
        for number in range(chosen.runs + 1):
            installation.trigger("bench")
            installation.wait_for_runs(number + 1, 60)
        gaps = installation.select(
            """
            SELECT extract(epoch FROM started_at - previous_end) * 1000 AS ms FROM (
                SELECT instance.started_at, lag(instance.ended_at)
                       OVER (PARTITION BY instance.dag_run_id ORDER BY instance.started_at) AS previous_end
                FROM task_instance AS instance
                WHERE dag_run_id > (SELECT min(id) FROM dag_run)) AS gaps
            WHERE previous_end IS NOT NULL
            """
        )
    values = [float(gap["ms"]) for gap in gaps]
    report("handoff", vars(chosen), {"handoff_p50_ms": quantile(values, 0.5), "handoff_p95_ms": quantile(values, 0.95)})
