"""The DAG that the tests of executors run, and workloads of it; tests of parts of executors use them, too."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import uuid4

from treadle_worker.protocol import Workload

DAG_FILE = """
import os, pathlib, time
from treadle import DAG, task

FOLDER = pathlib.Path(__file__).parent.parent

with DAG("conformance", on_success_callback=lambda context: (FOLDER / context["reason"]).touch()):
    @task
    def quick():
        return 42

    @task
    def waiting():
        (FOLDER / f"running-{os.getpid()}").touch()
        while not (FOLDER / "release").exists():
            time.sleep(0.01)

    @task
    def failing():
        raise ValueError("on purpose")

    quick(), waiting(), failing()
"""

_instances = itertools.count(1)


def make_workload(task_id: str, **changes: Any) -> Workload:
    """Return a workload of the DAG that the tests use."""
    attempt_id = str(uuid4())
    workload = Workload(
        attempt_id=attempt_id,
        task_instance_id=next(_instances),
        month="2026-01-01",
        dag_id="conformance",
        task_id=task_id,
        map_index=-1,
        try_number=1,
        max_tries=0,
        file="conformance.py",
        file_hash="one",
        version="one",
        queue="default",
        pool="default_pool",
        isolation="process",
        execution_timeout_seconds=None,
        executor_config={},
        log_path=f"conformance/run/{task_id}/{attempt_id}/attempt=1.jsonl",
        run={
            "run_id": "run",
            "run_type": "manual",
            "logical_date": "2026-01-01T00:00:00+00:00",
            "data_interval_start": None,
            "data_interval_end": None,
            "run_after": "2026-01-01T00:00:00+00:00",
            "start_date": None,
            "conf": {},
            "triggered_by": "test",
            "clear_number": 0,
        },
    )
    workload.update(changes)  # type: ignore[typeddict-item]
    return workload
