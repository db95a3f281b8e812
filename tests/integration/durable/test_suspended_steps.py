"""Sleeps, awakeables and pinned plans through a scheduler with real task processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.durable import HEAD, charges, running, state
from tests.support.waiting import wait_until
from tests.support.working import Working

from treadle_metadata import journals
from treadle_metadata.connection import Database
from treadle_metadata.errors import ConflictError, LimitError, NotFoundError
from treadle_metadata.queries import waits
from treadle_metadata.queries.steps import journals_of_run, steps_of
from treadle_metadata.queries.task_instances import get_instance
from treadle_metadata.settings import Settings

SLEEPING = """
with DAG("one"):
    @task(retries=0)
    def pay():
        step.run("before", note, "before")
        try:
            step.sleep("night", {seconds})
        except Exception:
            note("swallowed")
        step.run("after", note, "after")
    pay()
"""

APPROVED = """
with DAG("one"):
    @task(retries=0)
    def pay():
        approval = step.awakeable("approval", ttl={ttl})
        step.run("ask", lambda token: (HOME / "token").write_text(token), approval.token)
        note("asked")
        return approval.wait()
    pay()
"""


def waited_for(one: Working) -> tuple[str, str] | None:
    """Return kind and name of the step that the task's instance waits for, as "why" reads them."""
    (instance,) = one.select("SELECT id, month FROM task_instance")
    with one.database.begin() as connection:
        step = waits.step_of(connection, instance)
    return None if step is None else (step.kind, step.name)


def test_a_sleep_holds_no_slot_costs_no_try_and_repeats_nothing(own_database: Database, settings: Settings) -> None:
    with running(own_database, settings, SLEEPING.format(seconds=3600), retries=0) as one:
        wait_until(lambda: state(one) == "up_for_reschedule", 30)
        (row,) = one.select("SELECT try_number, attempt_id, next_retry_at FROM task_instance")
        assert (row["try_number"], row["attempt_id"]) == (0, None)
        assert timedelta(minutes=59) < row["next_retry_at"] - datetime.now(UTC) <= timedelta(hours=1)
        assert waited_for(one) == ("sleep", "night")
        with own_database.begin() as connection:
            connection.exec_driver_sql("UPDATE task_instance SET next_retry_at = now()")
            connection.exec_driver_sql("UPDATE durable_step SET due_at = now() WHERE kind = 'sleep'")
            connection.exec_driver_sql("UPDATE run_wakeup SET due_at = now()")
        one.loop.wake()
        wait_until(one.is_over, 30)
        assert state(one) == "success"
        assert waited_for(one) is None
        assert charges(settings) == [["before"], ["after"]]
        attempts = one.select("SELECT try_number, outcome FROM task_attempt ORDER BY queued_at")
        assert attempts == [{"try_number": 1, "outcome": "suspended"}, {"try_number": 1, "outcome": "success"}]


def test_a_short_sleep_ends_by_itself(own_database: Database, settings: Settings) -> None:
    with running(own_database, settings, SLEEPING.format(seconds=0.2), retries=0) as one:
        wait_until(one.is_over, 30)
        assert (state(one), charges(settings)) == ("success", [["before"], ["after"]])


@contextmanager
def asked(database: Database, settings: Settings, ttl: float) -> Iterator[tuple[Working, str]]:
    """A task that waits for an outside party, and the token that this party has."""
    with running(database, settings, APPROVED.format(ttl=ttl), retries=0) as one:
        wait_until(lambda: state(one) == "up_for_reschedule", 30)
        yield one, (Path(settings.home) / "token").read_text()


def test_an_awakeable_is_posted_once_and_its_task_goes_on_with_the_payload(
    own_database: Database, settings: Settings
) -> None:
    with asked(own_database, settings, 3600) as (one, token):
        assert waited_for(one) == ("awakeable", "approval")
        payload = {"approved": True, "by": "ann\0", "$type": "x"}
        with own_database.begin() as connection:
            with pytest.raises(NotFoundError, match="token"):
                journals.post(connection, "wrong" + token, payload, now=datetime.now(UTC))
            with pytest.raises(LimitError, match="at most"):
                journals.post(connection, token, "x" * 2**20, now=datetime.now(UTC))
            assert journals.post(connection, token, payload, now=datetime.now(UTC)) == "approval"
        wait_until(one.is_over, 30)
        assert state(one) == "success"
        with own_database.begin() as connection, pytest.raises(ConflictError, match="posted already"):
            journals.post(connection, token, None, now=datetime.now(UTC))
        value = json.loads(one.select("SELECT value FROM xcom WHERE key = 'return_value'")[0]["value"])
        assert value["$type"] == "dict"
        assert charges(settings) == [["asked"], ["asked"]]
        assert token not in str(one.select("SELECT * FROM durable_step"))


def test_a_deadline_passes_the_task_is_told_and_a_late_post_is_refused(
    own_database: Database, settings: Settings
) -> None:
    with asked(own_database, settings, 0.3) as (one, token):
        wait_until(one.is_over, 30)
        assert state(one) == "failed"
        error = one.select("SELECT error FROM task_attempt WHERE outcome = 'failed'")[0]["error"]
        assert (error["type"], "nobody posted its token" in error["message"]) == ("AwakeableTimedOut", True)
        with own_database.begin() as connection, pytest.raises(ConflictError, match="could be posted until"):
            journals.post(connection, token, "late", now=datetime.now(UTC))


def test_a_post_between_the_last_look_and_the_end_of_the_attempt_is_not_missed(
    own_database: Database, settings: Settings
) -> None:
    """The task itself posts, after it has looked and before it is suspended: from the file it cannot, so SQL does."""
    source = APPROVED.format(ttl=3600).replace("return approval.wait()", "(HOME / 'go').exists() or wait(approval)")
    wait = """
def wait(approval):
    import time
    try:
        approval.wait()
    finally:
        (HOME / "looked").touch()
        while not (HOME / "go").exists():
            time.sleep(0.01)
"""
    with running(own_database, settings, wait + source, retries=0) as one:
        wait_until((settings.home / "looked").exists, 30)
        with own_database.begin() as connection:
            token = (Path(settings.home) / "token").read_text()
            journals.post(connection, token, "now", now=datetime.now(UTC))
        (settings.home / "go").touch()
        wait_until(one.is_over, 30)
        assert state(one) == "success"


CHANGED = """
@task.step
def charge(number):
    note(f"charged {number}")

with DAG("one"):
    @task(retries=3, retry_delay=0)
    def pay():
        charge(1)
        if not (HOME / "go").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        charge(2)
    pay()
"""


@contextmanager
def refused(database: Database, settings: Settings) -> Iterator[Working]:
    """A task whose recorded steps met other code, and failed."""
    with running(database, settings, CHANGED, retries=0) as one:
        wait_until(one.is_over, 30)
        source = CHANGED.replace("charge(2)", "charge(3)")
        (settings.home / "go").touch()
        (settings.path("dags_folder") / "one.py").write_text(HEAD.format(home=str(settings.home)) + source)
        with database.begin() as connection:
            connection.exec_driver_sql("UPDATE dag_version SET file_hash = 'other'")
            instance = _instance(one)
            pinned = journals_of_run(connection, {"id": instance["dag_run_id"], "month": instance["month"]})[0]["plan"]
            connection.exec_driver_sql(
                "UPDATE durable_journal SET plan = 'pinned', refused_plan = %(plan)s", {"plan": pinned}
            )
            journals.accept(connection, instance, now=datetime.now(UTC))
        one.loop.wake()
        wait_until(lambda: one.select("SELECT FROM durable_journal WHERE refused_plan IS NOT NULL"), 30)
        wait_until(one.is_over, 30)
        assert state(one) == "failed"
        yield one


def _instance(one: Working) -> dict[str, object]:
    with one.database.begin() as connection:
        run = one.select("SELECT run_id FROM dag_run")[0]["run_id"]
        return get_instance(connection, "one", run, "pay")


def test_other_code_stops_the_replay_naming_both_versions_until_a_person_accepts_it(
    own_database: Database, settings: Settings
) -> None:
    with refused(own_database, settings) as one:
        assert charges(settings) == [["charged", "1"]]
        (journal,) = one.select("SELECT plan, refused_plan FROM durable_journal")
        error = one.select("SELECT error FROM task_attempt WHERE outcome = 'failed_without_retry'")[0]["error"]
        assert error["type"] == "StepPlanChangedError"
        assert journal["plan"] in error["message"]
        assert journal["refused_plan"] in error["message"]
        with own_database.begin() as connection:
            assert journals.accept(connection, _instance(one), now=datetime.now(UTC)) == journal["refused_plan"]
        wait_until(one.is_over, 30)
        assert state(one) == "success"
        assert charges(settings) == [["charged", "1"], ["charged", "3"]]
        with own_database.begin() as connection:
            with pytest.raises(ConflictError, match="nothing to accept"):
                journals.accept(connection, _instance(one), now=datetime.now(UTC))
            assert [row["state"] for row in steps_of(connection, _instance(one))] == ["done", "done"]


def test_a_discarded_journal_has_all_done_anew(own_database: Database, settings: Settings) -> None:
    with refused(own_database, settings) as one:
        with own_database.begin() as connection:
            assert journals.discard(connection, _instance(one), now=datetime.now(UTC))
        wait_until(one.is_over, 30)
        assert (state(one), charges(settings)) == ("success", [["charged", "1"], ["charged", "1"], ["charged", "3"]])
