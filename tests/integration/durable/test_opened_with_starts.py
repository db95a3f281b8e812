"""The journal of a transactional task is opened in the transaction that records its start, with its connection."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_executors.batches import Batch
from treadle_executors.execution_api import DatabaseExecution
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto, new_key
from treadle_metadata.resources import create_connection
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload


class Starts:
    """A scheduler with one transactional task, whose attempts are reported by hand."""

    def __init__(self, database: Database, settings: Settings, clock: ManualClock) -> None:
        self.settings = replace(settings, fernet_key=new_key())
        self.scheduler = TestScheduler(database, self.settings, clock)
        self.scheduler.executor.queue = self._take  # type: ignore[method-assign]
        self.handed: list[Workload] = []
        self.scheduler.install(a_dag("one", TaskDocument("pay", transaction="target", retries=1)))
        self.scheduler.trigger("one")
        self.scheduler.beats()
        self.execution = DatabaseExecution(database, self.settings, clock)
        self.clock = clock

    def _take(self, workloads: Any) -> None:
        self.handed += workloads

    def report(self, **facts: Any) -> Any:
        newest: Any = self.handed[-1]
        names = ("attempt_id", "task_instance_id", "month")
        return {**{name: newest[name] for name in names}, "hostname": "here", **facts}

    def start(self) -> Any:
        """Report the start as a runner host does, and return the answer."""
        moment = self.clock.now().isoformat(timespec="microseconds")
        report = self.report(started_at=moment, transaction=self.handed[-1]["transaction"])
        return self.execution.record(Batch(starts=[report])).starts[0]

    def ask(self, plan: str) -> Any:
        """Open the journal by question, as of code ``plan``."""
        return self.execution.answer(self.report(id=1, op="open_journal", args={"plan": plan, "conn_id": "target"}))

    def step(self) -> Any:
        return self.execution.answer(
            self.report(id=2, op="record_step", args={"name": "a", "inputs": "b", "value": "1"})
        )


@pytest.fixture
def one(database: Database, settings: Settings, clock: ManualClock) -> Starts:
    found = Starts(database, settings, clock)
    with database.begin() as connection:
        fields = {"conn_type": "postgres", "host": "there", "password": "secret"}
        create_connection(connection, "target", fields, crypto=Crypto.of_setting(found.settings.fernet_key))
    return found


def test_the_answer_to_a_start_brings_a_new_journal_and_the_connection(one: Starts) -> None:
    answer = one.start()
    journal = answer["journal"]
    assert answer["accepted"]
    assert (journal["is_new"], journal["steps"], journal["conn_id"]) == (True, [], "target")
    assert journal["connection"]["password"] == "secret"
    assert "plan" not in journal
    asked = one.ask("code")
    assert {name: asked[name] for name in ("id", "commit")} == {name: journal[name] for name in ("id", "commit")}
    assert asked["plan"] == "code"


def test_the_code_of_a_journal_that_came_with_the_start_is_pinned_before_its_first_step(one: Starts) -> None:
    journal = one.start()["journal"]
    one.ask("code")
    one.step()
    assert one.ask("other code")["plan"] == "code"
    assert one.ask("code")["id"] == journal["id"]


def test_a_start_that_is_said_again_and_a_second_try_have_their_journal_asked_for(one: Starts) -> None:
    """Of which code it is, only the attempt's process can tell; and nothing of it is new."""
    first = one.start()["journal"]
    again = one.start()
    assert (again["accepted"], "journal" in again) == (True, False)
    moment = one.clock.now().isoformat()
    one.execution.record(Batch(finishes=[one.report(outcome="failed", ended_at=moment, xcoms=[])]))
    one.clock.advance(timedelta(seconds=600))
    one.scheduler.beats()
    assert len(one.handed) == 2
    assert "journal" not in one.start()
    asked = one.ask("code")
    assert (asked["id"], asked.get("is_new")) == (first["id"], None)


def test_a_start_is_recorded_though_its_connection_is_missing_or_cannot_be_read(one: Starts) -> None:
    one.execution = DatabaseExecution(one.scheduler.database, replace(one.settings, fernet_key=new_key()), one.clock)
    answer = one.start()
    assert answer["accepted"]
    assert "connection" not in answer["journal"]
