"""A question of a task that has ended waits for nobody: no page counts or lists it as open."""

from __future__ import annotations

import pytest
from tests.support.scheduling import TestScheduler
from tests.support.web import Client

from treadle_metadata.clock import ManualClock
from treadle_metadata.statements import execute
from treadle_scheduler.waking import Scope


@pytest.mark.parametrize(("run", "number"), [("two", 1), ("one", 0)])
def test_the_inbox_has_questions_of_tasks_that_go_on_and_no_others(
    admin: Client, sales: str, scheduler: TestScheduler, clock: ManualClock, run: str, number: int
) -> None:
    scheduler.trigger("sales", run_id="two")
    scheduler.loop.wake(Scope.EVERYTHING)
    scheduler.loop.beat()
    with scheduler.database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO human_step (task_instance_id, month, try_number, subject, options, multiple, params, assignees,
                                    asked_at)
            SELECT id, month, 1, 'Go on?', '["yes"]', false, '{}', '[]', %(now)s FROM task_instance
            WHERE task_id = 'load' AND dag_run_id = (SELECT id FROM dag_run WHERE run_id = %(run)s)
            """,
            {"run": run, "now": clock.now()},
        )
    inbox = admin.json("/ui/humanSteps")
    assert (len(inbox["steps"]), inbox["open"]) == (number, number)
    assert admin.json("/ui/home")["open_human_steps"] == number
    assert len(admin.json("/api/v2/dags/~/dagRuns/~/hitlDetails?response_received=false")["hitl_details"]) == number
