"""Why sensors, questions and pools full of sensors wait: each is made to happen, then read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.integration.why.conftest import Asking
from tests.support.holding import hold
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata import human_steps, waits
from treadle_metadata.crypto import Crypto
from treadle_metadata.deciding.reasons import Kind, Reason
from treadle_metadata.queries.pools import get_pool
from treadle_metadata.statements import execute, rows


def waiting(scheduler: TestScheduler, *task_ids: str, slots: int) -> str:
    """Tasks that run, in a pool of their own, and one more that wants to."""
    hold(scheduler, *task_ids)
    with scheduler.database.begin() as connection:
        execute(connection, "INSERT INTO slot_pool (name, slots) VALUES ('sensors', %(slots)s)", {"slots": slots})
    tasks = [TaskDocument(one, pool="sensors", priority_weight=10) for one in task_ids]
    scheduler.install(a_dag("d", *tasks, TaskDocument("work", pool="sensors")))
    run = scheduler.trigger("d", run_id="r")
    scheduler.beats()
    return run


def ask_as(scheduler: TestScheduler, task_id: str, op: str, **args: Any) -> Any:
    """Ask the server for the running attempt of a task."""
    with scheduler.database.begin() as connection:
        sql = "SELECT id, month, attempt_id FROM task_instance WHERE task_id = %(task)s"
        (one,) = rows(connection, sql, {"task": task_id})
        request = {"task_instance_id": one["id"], "month": one["month"], "attempt_id": str(one["attempt_id"])}
        answer = waits.answer if op in waits.QUESTIONS else human_steps.answer
        crypto = Crypto.of_setting(scheduler.executor.settings.fernet_key)
        return answer(connection, request | {"op": op, "args": args}, crypto=crypto, now=scheduler.clock.now())


def wait(scheduler: TestScheduler, task_id: str, mode: str = "poke") -> Any:
    return ask_as(scheduler, task_id, "note_wait", mode=mode, timeout=3600, first_try=1)


@pytest.mark.parametrize("sensors", [1, 2])
def test_a_pool_whose_slots_are_all_held_by_waiting_sensors_says_so(
    scheduler: TestScheduler, ask: Asking, sensors: int
) -> None:
    run = waiting(scheduler, "one", "two", slots=2)
    for task_id in ("one", "two")[:sensors]:
        wait(scheduler, task_id)
    found = ask.task("d", run, "work")
    with scheduler.database.begin() as connection:
        pool = get_pool(connection, "sensors")
    assert pool["sensors"] == sensors
    if sensors == 1:
        assert (found.reason, pool["warning"]) == (Reason.POOL, None)
        return
    assert found.reason is Reason.SENSORS
    assert found.blocked_by is not None
    assert (found.blocked_by.kind, found.blocked_by.id) == (Kind.POOL, "sensors")
    assert "held by d/r/one (running), d/r/two (running): sensors that wait in mode poke" in found.sentence
    assert "held by sensors that wait in mode poke (d/r/one, d/r/two)" in pool["warning"]


def test_a_sensor_in_its_slot_and_one_between_two_pokes_say_until_when_they_wait(
    scheduler: TestScheduler, ask: Asking
) -> None:
    run = waiting(scheduler, "one", slots=1)
    wait(scheduler, "one")
    found = ask.task("d", run, "one")
    assert (found.reason, "waits in its slot since" in found.sentence) == (Reason.RUNNING, True)
    with scheduler.database.begin() as connection:
        execute(connection, "SET LOCAL session_replication_role = replica")
        execute(
            connection,
            "UPDATE task_instance SET state = 'up_for_reschedule', attempt_id = NULL, next_retry_at = %(at)s"
            " WHERE task_id = 'one'",
            {"at": scheduler.clock.now() + timedelta(minutes=5)},
        )
    found = ask.task("d", run, "one")
    assert (found.reason, "(1 poke) and gives up at" in found.sentence) == (Reason.RESCHEDULED, True)


def test_the_time_of_a_wait_counts_from_the_first_attempt_and_is_kept_from_one_to_the_next(
    scheduler: TestScheduler,
) -> None:
    waiting(scheduler, "one", slots=1)
    with scheduler.database.begin() as connection:
        # An attempt before this one, of a try that failed before it could look.
        execute(
            connection,
            """
            INSERT INTO task_attempt (attempt_id, month, task_instance_id, try_number, version_id, executor,
                                      retry_delay_seconds, queued_at, log_path, outcome, started_at)
            SELECT gen_random_uuid(), month, task_instance_id, try_number, version_id, executor, 0, queued_at, '',
                   'failed', started_at - interval '30 s'
            FROM task_attempt
            """,
        )
    assert wait(scheduler, "one") == {"waited": 30.0, "pokes": 1, "at": scheduler.clock.now().isoformat()}
    scheduler.clock.advance(timedelta(seconds=90))
    then = scheduler.clock.now().isoformat()
    assert wait(scheduler, "one", "reschedule") == {"waited": 120.0, "pokes": 2, "at": then}


def test_fifteen_sensors_that_hold_fifteen_slots_are_reported_with_the_task_that_cannot_start(
    scheduler: TestScheduler, ask: Asking
) -> None:
    """Case B14: what they wait for is made by the task that finds no slot."""
    sensors = [f"s{number:02}" for number in range(15)]
    run = waiting(scheduler, *sensors, slots=15)
    for task_id in sensors:
        wait(scheduler, task_id)
    found = ask.task("d", run, "work")
    assert found.reason is Reason.SENSORS
    assert "d/r/s00 (running), d/r/s01 (running), d/r/s02 (running) and 12 more" in found.sentence
    with scheduler.database.begin() as connection:
        warning = get_pool(connection, "sensors")["warning"]
    assert warning.startswith("all 15 slots of pool 'sensors' are held by sensors")
    assert "(d/r/s00, d/r/s01, d/r/s02 and 12 more)" in warning


def test_a_question_says_whom_it_waits_for_and_until_when(scheduler: TestScheduler, ask: Asking) -> None:
    run = waiting(scheduler, "one", slots=1)
    assignees = [{"id": "ann", "name": "ann"}]
    ask_as(scheduler, "one", "ask_human", subject="Go?", options=["yes"], seconds=60, assignees=assignees)
    with scheduler.database.begin() as connection:
        execute(connection, "SET LOCAL session_replication_role = replica")
        execute(
            connection,
            "UPDATE task_instance SET state = 'up_for_reschedule', attempt_id = NULL, next_retry_at = %(at)s"
            " WHERE task_id = 'one'",
            {"at": scheduler.clock.now() + timedelta(seconds=60)},
        )
    found = ask.task("d", run, "one")
    assert found.reason is Reason.ANSWER
    assert "waits for an answer by ann to 'Go?' (yes) until" in found.sentence
    assert found.sentence.endswith("then it fails")
