"""Mapping over a list and joining its results, through worker processes and the database: more than one page."""

from __future__ import annotations

import json

from tests.support.installed import Installed

COUNT = 520
SOURCE = f"""
from treadle import DAG, task

with DAG("mapping", max_active_tasks=100, default_args={{"isolation": "shared"}}):

    @task
    def make():
        return list(range({COUNT}))

    @task
    def each(number):
        return number

    @task
    def join(values, doubled):
        return {{"count": len(values), "sum": sum(values), "slice": values[498:503], "doubled": sum(doubled)}}

    numbers = make()
    results = each.expand(number=numbers.map(lambda number: number + 1))
    join(results, results.map(lambda value: value * 2))
"""


def test_a_join_reads_the_results_of_more_instances_than_fit_on_a_page(installed: Installed) -> None:
    installed.add("mapping.py", SOURCE)
    assert installed.end_of("mapping", installed.run_of("mapping"), 120) == "success"
    found = installed.select(
        """
        SELECT xcom.value FROM xcom JOIN task_instance AS instance ON instance.id = xcom.task_instance_id
        WHERE instance.dag_id = 'mapping' AND instance.task_id = 'join'
        """
    )
    total = COUNT * (COUNT + 1) // 2
    assert json.loads(found[0]["value"]) == {
        "count": COUNT,
        "sum": total,
        "slice": list(range(499, 504)),
        "doubled": 2 * total,
    }
