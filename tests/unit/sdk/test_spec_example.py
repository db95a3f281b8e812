"""The example of the specification's section 4, with nothing but its import lines changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from treadle import document
from treadle.collection import begin, collect
from treadle.serialization import document_of, validate

EXAMPLE = '''\
from datetime import datetime, timedelta
from treadle import dag, task

@dag(
    dag_id="daily_etl_pipeline",
    schedule="0 6 * * *",          # 6 AM UTC daily
    start_date=datetime(2025, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={
        "retries": 2,
        "retry_delay": timedelta(minutes=5),
        "execution_timeout": timedelta(hours=1),
        "pool": "etl_pool",
    },
    tags=["etl", "warehouse"],
)
def daily_etl_pipeline():

    @task()
    def extract_orders():
        """Pull today's orders from the source DB."""
        return orders

    @task()
    def extract_customers():
        """Pull customer updates."""
        return customers

    @task()
    def transform(orders, customers):
        """Join and clean data."""
        return transformed_data

    @task()
    def load(data):
        """Write to warehouse."""
        write_to_warehouse(data)

    orders = extract_orders()
    customers = extract_customers()
    transformed = transform(orders, customers)
    load(transformed)

daily_etl_pipeline()
'''

PRINT = """
import runpy, sys
from treadle import document
from treadle.collection import collect
from treadle.serialization import document_of
names = runpy.run_path(sys.argv[1])
print(document.dumps(document_of(collect(names.values())[0])))
"""


@pytest.fixture
def example(tmp_path: Path) -> document.DagDocument:
    path = tmp_path / "example.py"
    begin()
    exec(compile(EXAMPLE, path, "exec"), {"__name__": "example"})
    (dag,) = collect([])
    validate(dag)
    return document_of(dag)


def test_its_dag_has_the_arguments_of_the_decorator(example: document.DagDocument) -> None:
    assert example.dag_id == "daily_etl_pipeline"
    assert example.schedule.kind == "cron"
    assert example.schedule.expressions == ("0 6 * * *",)
    assert example.start_date == "2025-01-01T00:00:00+00:00"
    assert example.max_active_runs == 1
    assert example.catchup is False
    assert example.tags == ("etl", "warehouse")
    assert example.line == 4


def test_its_four_tasks_stand_in_order_with_their_edges(example: document.DagDocument) -> None:
    assert {task.task_id: task.upstream for task in example.tasks} == {
        "extract_orders": (),
        "extract_customers": (),
        "transform": ("extract_customers", "extract_orders"),
        "load": ("transform",),
    }
    assert [task.task_id for task in example.tasks] == ["extract_orders", "extract_customers", "transform", "load"]


def test_its_tasks_take_the_default_args(example: document.DagDocument) -> None:
    for task in example.tasks:
        assert (task.retries, task.retry_delay_seconds) == (2, 300.0)
        assert (task.execution_timeout_seconds, task.pool) == (3600.0, "etl_pool")
        assert task.start_date is None


def test_its_document_is_the_same_under_any_hash_seed(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        EXAMPLE.replace('tags=["etl", "warehouse"]', 'tags={"a", "b", "c", "d"}, params={"n": {"x", "y", "z"}}')
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", PRINT, str(path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(texts) == 1
    assert '"tags":["a","b","c","d"]' in texts.pop()
