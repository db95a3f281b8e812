"""The life of a question in the database: its time, a retry, a mark and a clear. The test speaks for the attempts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.support.holding import hold
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata import execution, human_steps
from treadle_metadata.clearing import Selection, clear
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import ConflictError, NotFoundError
from treadle_metadata.marking import mark_selected
from treadle_metadata.queries.task_instances import get_instance
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows

MINUTE = timedelta(minutes=1)
SELECTED = Selection(dag_id="d", run_ids=("r",), task_ids=("ask", "after"))


class Asking:
    """A run whose task ``ask`` runs, and asks as its operator does."""

    def __init__(self, scheduler: TestScheduler) -> None:
        self.scheduler = scheduler
        hold(scheduler, "ask")
        tasks = (TaskDocument("ask", retries=1, retry_delay_seconds=0), TaskDocument("after", upstream=("ask",)))
        scheduler.install(a_dag("d", *tasks))
        scheduler.trigger("d", run_id="r")
        scheduler.beats()

    def attempt(self) -> dict[str, Any]:
        """The attempt of the task, as reports and questions name it."""
        with self.scheduler.database.begin() as connection:
            sql = "SELECT id, month, attempt_id FROM task_instance WHERE task_id = 'ask'"
            (one,) = rows(connection, sql)
        named = {"task_instance_id": one["id"], "month": one["month"].isoformat()}
        return {**named, "attempt_id": str(one["attempt_id"])}

    def ask(self, **question: Any) -> Any:
        """Ask, or look at the answer."""
        args = {"subject": "Go?", "options": ["yes", "no"], "seconds": 60, **question}
        crypto = Crypto.of_setting(self.scheduler.context.settings.fernet_key)
        now = self.scheduler.clock.now()
        with self.scheduler.database.begin() as connection:
            request = {**self.attempt(), "op": "ask_human", "args": args}
            return human_steps.answer(connection, request, crypto=crypto, now=now)

    def end(self, outcome: str) -> None:
        """End the attempt: until the question's time, or as a failure."""
        now = self.scheduler.clock.now()
        resume = {"at": (now + MINUTE).isoformat(), "name": "an answer", "inputs": ""}
        report = {"outcome": outcome, "ended_at": now, "xcoms": [], "error": None, "resume": resume}
        with self.scheduler.database.begin() as connection:
            execution.record_finishes(connection, [{**self.attempt(), **report}], now=now)

    def respond(self, chosen: str) -> Any:
        """Answer."""
        with self.scheduler.database.begin() as connection:
            instance = get_instance(connection, "d", "r", "ask")
            return human_steps.respond(connection, instance, [chosen], {}, by="ann", now=self.scheduler.clock.now())

    def state(self) -> str:
        """The state of the task."""
        return self.scheduler.task_states("r")["ask"]

    def later(self) -> None:
        """Let the question's time pass."""
        self.scheduler.clock.advance(MINUTE)
        self.scheduler.beats()


@pytest.fixture
def asking(database: Database, settings: Settings, clock: ManualClock) -> Asking:
    """A task that runs and has not asked yet."""
    return Asking(TestScheduler(database, settings, clock))


def test_when_the_time_is_over_the_defaults_are_the_answer_and_a_late_one_is_refused(asking: Asking) -> None:
    assert asking.ask(defaults=["no"])["state"] == "waiting"
    asking.end("suspended")
    assert asking.state() == "up_for_reschedule"
    asking.later()
    with pytest.raises(ConflictError, match="could be answered until"):
        asking.respond("yes")
    told = asking.ask(defaults=["no"])
    assert (told["state"], told["chosen"], told["given"], told["timed_out"]) == ("answered", ["no"], {}, True)
    with pytest.raises(ConflictError, match="by its defaults"):
        asking.respond("yes")


def test_without_defaults_the_question_is_over_and_a_retry_asks_anew(asking: Asking) -> None:
    asking.ask()
    asking.end("suspended")
    asking.later()
    assert asking.ask()["state"] == "timed_out"
    asking.end("failed")
    asking.scheduler.beats()
    assert asking.state() == "running"
    told = asking.ask()
    assert (told["is_new"], told["state"]) == (True, "waiting")
    with asking.scheduler.database.begin() as connection:
        steps = rows(
            connection, "SELECT try_number, timed_out, withdrawn_at IS NULL AS open FROM human_step ORDER BY 1"
        )
    assert [tuple(one.values()) for one in steps] == [(1, True, False), (2, False, True)]


def test_an_answer_in_time_lets_the_task_go_on_at_once_and_is_there_for_a_retry(asking: Asking) -> None:
    asking.ask()
    asking.end("suspended")
    asking.respond("yes")
    asking.scheduler.beats()
    assert (asking.state(), asking.ask()["chosen"]) == ("running", ["yes"])
    asking.end("failed")
    asking.scheduler.beats()
    told = asking.ask()
    assert (told["is_new"], told["chosen"], told["answered_by"]) == (False, ["yes"], "ann")


def test_a_question_goes_with_its_task_when_that_is_marked_and_a_clear_asks_anew(asking: Asking) -> None:
    asking.ask()
    asking.end("suspended")
    now = asking.scheduler.clock.now()
    with asking.scheduler.database.begin() as connection:
        mark_selected(connection, SELECTED, "failed", now=now)
    with pytest.raises(NotFoundError):
        asking.respond("yes")
    with asking.scheduler.database.begin() as connection:
        clear(connection, SELECTED, now=now)
    asking.scheduler.beats()
    assert asking.ask()["is_new"]
    asking.respond("yes")
    with asking.scheduler.database.begin() as connection:
        clear(connection, SELECTED, now=now)
    assert rows_of(asking) == (2, 2)


def rows_of(asking: Asking) -> tuple[int, int]:
    """How many questions there are, and how many of them are withdrawn."""
    with asking.scheduler.database.begin() as connection:
        (one,) = rows(connection, "SELECT count(*) AS them, count(withdrawn_at) AS withdrawn FROM human_step")
    return one["them"], one["withdrawn"]
