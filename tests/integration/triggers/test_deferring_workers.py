"""Tasks that defer in processes of their own: reported while heartbeats go on, and gone on with elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.deferring import KEY, HandTriggerer
from tests.support.waiting import wait_until
from tests.support.working import working

from treadle.document import DagDocument, TaskDocument
from treadle_executors.execution_api import Answers, Batch, ExecutionApi
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import tuples

TASKS = 8

SOURCE = """
from treadle import DAG, BaseOperator
from treadle.triggers import DateTimeTrigger

class Waits(BaseOperator):
    def execute(self, context):
        context["ti"].xcom_push("before", self.task_id)
        self.defer(trigger=DateTimeTrigger("2040-01-01"), method_name="go_on", kwargs={"more": {1, 2}})

    def go_on(self, context, event, more):
        return [event, sorted(more), context["ti"].xcom_pull(key="before", task_ids=self.task_id)]

with DAG("d", max_active_tasks=1000, isolation="shared"):
    for number in range(8):
        Waits(task_id=f"t{number}")
"""


class Late:
    """An Execution API whose database answers late."""

    def __init__(self, real: ExecutionApi, database: Database) -> None:
        self._real = real
        self._database = database

    def record(self, batch: Batch) -> Answers:
        """Record a batch; the answer to finishes comes after the next heartbeats are due."""
        answers = self._real.record(batch)
        if batch.finishes:
            with self._database.begin() as connection:
                tuples(connection, "SELECT pg_sleep(0.2)")
        return answers

    def answer(self, request: Any) -> Any:
        """Answer a question."""
        return self._real.answer(request)


def test_a_deferral_is_no_failure_however_late_its_answer_and_how_frequent_the_heartbeats(
    database: Database, settings: Settings
) -> None:
    """Case D6."""
    quick = replace(settings, fernet_key=KEY, lease_renewal_seconds=0.05, parallelism=8, tasks_per_child=50)
    tasks = tuple(TaskDocument(f"t{number}", operator="Waits", isolation="shared") for number in range(TASKS))
    with working(database, quick, lambda real: Late(real, database)) as one:
        one.install(DagDocument("d", tasks=tasks, max_active_tasks=1000), SOURCE)
        one.trigger("d")

        def states() -> dict[str, int]:
            found = one.select("SELECT state, count(*) AS n FROM task_instance GROUP BY state")
            return {row["state"]: row["n"] for row in found}

        wait_until(lambda: states() == {"deferred": TASKS}, 60)
        by_hand = HandTriggerer(database, SystemClock())
        by_hand.beat()
        assert len(by_hand.fire_all({"x": [1]})) == TASKS
        one.loop.wake()
        wait_until(one.is_over, 60)
        assert states() == {"success": TASKS}
        outcomes = one.select("SELECT outcome, count(*) AS n FROM task_attempt GROUP BY outcome ORDER BY outcome")
        assert [(row["outcome"], row["n"]) for row in outcomes] == [("deferred", TASKS), ("success", TASKS)]
        (value,) = one.select(
            """
            SELECT xcom.value FROM xcom JOIN task_instance ON task_instance.id = xcom.task_instance_id
            WHERE task_id = 't7' AND key = 'return_value'
            """
        )
        assert value["value"] == '[{"x":[1]},[1,2],"t7"]'
