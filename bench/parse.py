"""The DAG processor: a first full scan from process start, and the time from an edit to its being visible."""

from __future__ import annotations

import argparse
import time
from functools import partial

from bench.installation import Installation, installed, wait_for
from bench.report import quantile, report

SOURCE = """
from datetime import datetime
from treadle import DAG, task

with DAG("dag_{number}", schedule="0 6 * * *", start_date=datetime(2026, 1, 1), tags=["{tag}"]):
    @task
    def step(value=None):
        return value

    value = None
    for _ in range({tasks}):
        value = step(value)
"""


def source(number: int, tasks: int, tag: str) -> str:
    """Return one DAG file."""
    return SOURCE.format(number=number, tasks=tasks, tag=tag)


def is_edited(installation: Installation, dag_id: str) -> bool:
    """Tell whether the second version of a DAG is stored."""
    second = "SELECT 1 FROM dag WHERE dag_id = %(dag_id)s AND 'second' = ANY(tags)"
    return bool(installation.select(second, dag_id=dag_id))


def main(options: list[str]) -> None:
    """Scan, then edit files one after another."""
    parser = argparse.ArgumentParser(prog="python -m bench parse", description=__doc__)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--edits", type=int, default=10)
    chosen = parser.parse_args(options)
    dags = {f"dag_{number}": source(number, chosen.tasks, "first") for number in range(chosen.files)}
    with installed(dags, TREADLE_PARSING_PROCESSES=str(chosen.processes)) as installation:
        wait_for(lambda: installation.select("SELECT count(*) AS n FROM dag")[0]["n"] >= chosen.files, 120)
        scan = installation.select(
            """
            SELECT extract(epoch FROM (SELECT max(parsed_at) FROM dag_file) -
                   (SELECT min(started_at) FROM process WHERE kind = 'dag-processor')) AS seconds
            """
        )[0]["seconds"]
        edits = []
        for number in range(chosen.edits):
            began = time.perf_counter()
            path = installation.home / "dags" / f"dag_{number}.py"
            path.write_text(source(number, chosen.tasks, "second"))
            wait_for(partial(is_edited, installation, f"dag_{number}"), 30)
            edits.append(time.perf_counter() - began)
    figures = {
        "full_scan_s": float(scan),
        "edit_visible_s": quantile(edits, 0.5),
        "edit_visible_p95_s": quantile(edits, 0.95),
    }
    report("parse", vars(chosen), figures)
