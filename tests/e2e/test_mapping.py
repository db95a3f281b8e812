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


GROUPED = """
from treadle import DAG, task, task_group

with DAG("grouped", default_args={"isolation": "shared"}):

    @task
    def make():
        return [{"x": 1, "y": 10}, {"x": 2}]

    @task_group
    def each(x, y=20):
        @task.branch
        def choose(x):
            return "each.odd" if x % 2 else "each.even"

        @task
        def odd(x, y):
            return ["odd", x, y]

        @task
        def even(x, y):
            return ["even", x, y]

        @task(trigger_rule="none_failed_min_one_success")
        def told(ti=None):
            return ti.xcom_pull("each.odd") or ti.xcom_pull("each.even")

        done = told()
        choose(x) >> [odd(x, y), even(x, y)] >> done
        return done

    @task
    def join(found):
        return list(found)

    join(each.expand_kwargs(make()))
"""


def test_a_mapped_group_chooses_and_joins_through_worker_processes(installed: Installed) -> None:
    installed.add("grouped.py", GROUPED)
    assert installed.end_of("grouped", installed.run_of("grouped"), 60) == "success"
    found = installed.select(
        """
        SELECT xcom.value FROM xcom JOIN task_instance AS instance ON instance.id = xcom.task_instance_id
        WHERE instance.dag_id = 'grouped' AND instance.task_id = 'join'
        """
    )
    assert json.loads(found[0]["value"]) == [["odd", 1, 10], ["even", 2, 20]]


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
