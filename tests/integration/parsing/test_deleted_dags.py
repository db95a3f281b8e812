"""A DAG that is deleted while its file stays."""

from __future__ import annotations

from tests.support.parsing import Parsed
from tests.support.waiting import wait_until

from treadle_metadata.deletion import delete_dag
from treadle_metadata.statements import rows

FILE = """
from treadle import DAG, task

with DAG("kept"):

    @task
    def only():
        pass

    only()
"""


def dag_numbers(parsed: Parsed) -> list[int]:
    with parsed.database.begin() as connection:
        return [row["id"] for row in rows(connection, "SELECT id FROM dag_version WHERE dag_id = 'kept'")]


def test_a_file_that_still_defines_a_deleted_dag_makes_it_anew(live: Parsed) -> None:
    live.write("kept.py", FILE)
    wait_until(lambda: dag_numbers(live), 20)
    before = dag_numbers(live)
    with live.database.begin() as connection:
        delete_dag(connection, "kept")
    wait_until(lambda: dag_numbers(live), 20)
    assert dag_numbers(live) != before
