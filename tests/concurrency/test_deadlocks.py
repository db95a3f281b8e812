"""A deadlock costs time and nothing else: whoever PostgreSQL chose to end begins again (case A51)."""

from __future__ import annotations

import threading

from sqlalchemy import Connection
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows


def test_two_transactions_that_wait_for_each_other_both_come_to_their_end(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    for dag_id in ("a", "b"):
        scheduler.install(a_dag(dag_id, TaskDocument("t")))
    both_hold_one = threading.Barrier(2)
    tries: list[str] = []
    errors: list[BaseException] = []

    def change(first: str, second: str) -> None:
        def act(connection: Connection) -> None:
            tries.append(first)
            add = "UPDATE dag SET description = coalesce(description, '') || %(by)s WHERE dag_id = %(dag_id)s"
            execute(connection, add, {"by": first, "dag_id": first})
            if len(tries) <= 2:
                both_hold_one.wait(10)
            execute(connection, add, {"by": first, "dag_id": second})

        try:
            database.run(act)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=change, args=pair) for pair in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert len(tries) > 2
    with database.begin() as connection:
        found = rows(connection, "SELECT description FROM dag ORDER BY dag_id")
    assert [sorted(row["description"]) for row in found] == [["a", "b"], ["a", "b"]]
