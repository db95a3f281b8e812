"""What a running task is told of other DAGs' runs: states only, and of its own team's DAGs only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.holding import hold
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ExpandArgument, ExpandDocument, GroupDocument, TaskDocument
from treadle_metadata import trigger_answers, waits
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows

DATE = datetime(2026, 1, 15, tzinfo=UTC)


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    """A scheduler with a DAG ``asker`` whose task runs, and one DAG that has had a run."""
    made = TestScheduler(database, settings, clock)
    hold(made, "ask", "slow")
    made.install(a_dag("asker", TaskDocument("ask")))
    mapped = ExpandDocument("product", (ExpandArgument("x", length=3),))
    made.install(
        a_dag(
            "other",
            TaskDocument("load", expand=mapped),
            TaskDocument("outer.a", group_id="outer", upstream=("load",)),
            TaskDocument("outer.inner.slow", group_id="outer.inner"),
            TaskDocument("slow"),
            groups=(GroupDocument("outer"), GroupDocument("outer.inner", parent="outer")),
        )
    )
    made.trigger("asker", logical_date=DATE)
    made.trigger("other", logical_date=DATE, run_id="r")
    made.beats()
    return made


def ask(scheduler: TestScheduler, **args: Any) -> Any:
    """Ask for the attempt of the DAG ``asker``."""
    with scheduler.database.begin() as connection:
        sql = "SELECT id AS task_instance_id, month, attempt_id FROM task_instance WHERE task_id = 'ask'"
        (one,) = rows(connection, sql)
        question = {"dag_id": "other", "logical_dates": [DATE.isoformat()], "task_ids": None, "group_id": None, **args}
        crypto = Crypto.of_setting(scheduler.context.settings.fernet_key)
        request = {**one, "op": "get_states", "args": question}
        return waits.answer(connection, request, crypto=crypto, now=scheduler.clock.now())


def test_states_are_told_of_runs_tasks_their_instances_and_groups(scheduler: TestScheduler) -> None:
    (run,) = ask(scheduler)["runs"]
    assert run == {"logical_date": DATE.isoformat(), "run_id": "r", "state": "running", "tasks": {}}
    (run,) = ask(scheduler, task_ids=["load", "slow", "gone"])["runs"]
    assert run["tasks"] == {"load": {"success": 3}, "slow": {"running": 1}, "gone": {}}
    (run,) = ask(scheduler, group_id="outer")["runs"]
    assert run["tasks"] == {"outer.a": {"success": 1}, "outer.inner.slow": {"success": 1}}
    assert ask(scheduler, logical_dates=[(DATE + timedelta(1)).isoformat()]) == {"runs": [], "missing": []}


def test_what_does_not_exist_is_named_when_that_is_asked(scheduler: TestScheduler) -> None:
    assert ask(scheduler, check=True, task_ids=["load"])["missing"] == []
    found = ask(scheduler, check=True, task_ids=["lod"], group_id="inner")["missing"]
    assert found == ["task 'lod' of DAG 'other'", "task group 'inner' of DAG 'other'"]
    assert ask(scheduler, check=True, dag_id="othr")["missing"] == ["DAG 'othr'"]


def test_another_teams_dag_does_not_exist_and_an_attempt_that_is_over_is_told_nothing(scheduler: TestScheduler) -> None:
    with scheduler.database.begin() as connection:
        execute(connection, "INSERT INTO team (name, created_at) VALUES ('red', now()), ('blue', now())")
    for own, others, seen in (("red", "blue", 0), (None, "blue", 0), ("red", None, 1), ("red", "red", 1)):
        scheduler.set_dag("asker", team=own)
        scheduler.set_dag("other", team=others)
        found = ask(scheduler, check=True)
        assert (len(found["runs"]), len(found["missing"])) == (seen, 1 - seen)
    with scheduler.database.begin() as connection:
        execute(connection, "UPDATE task_instance SET state = 'success', ended_at = now() WHERE task_id = 'ask'")
    with pytest.raises(InvalidRequestError, match="is over"):
        ask(scheduler)


@pytest.mark.parametrize(
    "wrong", [{"dag_id": None}, {"logical_dates": "now"}, {"logical_dates": ["2026-01-15"]}, {"task_ids": [1]}]
)
def test_a_malformed_question_is_refused(scheduler: TestScheduler, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError):
        ask(scheduler, **wrong)


def test_a_malformed_wait_is_refused(scheduler: TestScheduler) -> None:
    with scheduler.database.begin() as connection:
        (one,) = rows(
            connection, "SELECT id AS task_instance_id, month, attempt_id FROM task_instance WHERE task_id = 'ask'"
        )
        for args in ({"mode": "x", "timeout": 1, "first_try": 1}, {"mode": "poke", "timeout": "1", "first_try": 1}):
            request = {**one, "op": "note_wait", "args": args}
            crypto = Crypto.of_setting(scheduler.context.settings.fernet_key)
            with pytest.raises(InvalidRequestError, match="cannot wait"):
                waits.answer(connection, request, crypto=crypto, now=scheduler.clock.now())


def test_a_trigger_is_told_of_its_teams_dags_and_of_those_that_belong_to_nobody(scheduler: TestScheduler) -> None:
    args = {"dag_id": "other", "logical_dates": [DATE.isoformat()], "task_ids": None, "group_id": None}
    crypto = Crypto.of_setting(scheduler.context.settings.fernet_key)
    with scheduler.database.begin() as connection:
        execute(connection, "INSERT INTO team (name, created_at) VALUES ('blue', now())")
    for team, seen in ((None, 1), ("blue", 0)):
        scheduler.set_dag("other", team=team)
        with scheduler.database.begin() as connection:
            found = trigger_answers.answer(connection, "get_states", args, crypto=crypto)
            runs = trigger_answers.answer(
                connection, "get_run_states", {"dag_id": "other", "run_ids": ["r"]}, crypto=crypto
            )
        assert (len(found["runs"]), len(runs)) == (seen, seen)
