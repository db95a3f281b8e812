"""Makes the parse zygote warm: it parses a sample once, so that each child finds loaded what DAG files usually need.

Names of the SDK are loaded on first use, and the interpreter specialises code that has run: done here once, instead of
in every child. The sample is ours; no user code runs in the zygote.
"""

from __future__ import annotations

import sys
from typing import Final

from treadle.timetables import factory
from treadle_scheduler.parsing.collecting import Source, collect
from treadle_worker.loading import module_name

SAMPLE: Final = b"""
from datetime import datetime, timedelta, timezone
from treadle import DAG, BashOperator, EmptyOperator, Label, PythonOperator, TaskGroup, chain, dag, task

@task
def first():
    return 1

@task(retries=2, retry_delay=timedelta(minutes=1))
def second(value, other=None):
    return value

with DAG("warm_1", schedule="0 6 * * *", start_date=datetime(2025, 1, 1, tzinfo=timezone.utc), tags=["a"],
         default_args={"retries": 1}, params={"size": 1}, catchup=False) as warm:
    with TaskGroup("group"):
        inside = EmptyOperator(task_id="inside")
    chain(inside, second(first(), other=[1]), BashOperator(task_id="shell", bash_command="true"))
    second.expand(value=[1, 2]) >> PythonOperator(task_id="python", python_callable=print)

@dag(schedule=timedelta(hours=1), start_date=datetime(2025, 1, 1))
def warm_2():
    second(first())

warm_2()
"""

_ROUNDS: Final = 5
"""The interpreter specialises a function after a few calls."""


def warm_up(folder: str) -> None:
    """Parse the sample, and leave no trace of it but what was loaded."""
    source = Source("warm_up.py", f"{folder}/warm_up.py", SAMPLE, folder)
    for _ in range(_ROUNDS):
        found = collect(source, {}, "trigger")
        assert not found["errors"], found["errors"]
    sys.modules.pop(module_name(source.file), None)
    factory.from_document.cache_clear()
