"""``treadle steps`` on a real database."""

from __future__ import annotations

import pytest
from tests.support.command_line import CommandLine
from tests.support.durable import record
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute


@pytest.fixture
def token(scheduler: TestScheduler, database: Database, settings: Settings) -> str:
    """The token of an awakeable of task ``fetch``, which failed, in run ``first`` of DAG ``sales``."""
    scheduler.install(a_dag("sales", TaskDocument("fetch")))
    scheduler.trigger("sales", run_id="first")
    scheduler.beats()
    with database.begin() as connection:
        return record(connection, settings, scheduler.clock.now())


def test_steps_are_listed_and_shown(line: CommandLine, token: str) -> None:
    (journal,) = line.json("steps", "list", "sales")
    assert (journal["task_id"], journal["steps"], journal["waiting"]) == ("fetch", 2, 1)
    charge, approval = line.json("steps", "show", "sales", "first", "fetch")
    assert (charge["value"], charge["state"], approval["state"]) == ({"receipt": 1}, "done", "waiting")
    assert '{"receipt": 1}' in line.ok("steps", "show", "sales", "first", "fetch")
    assert token not in line.ok("steps", "show", "sales", "first", "fetch", "-o", "json")
    assert "fetch" in line.ok("steps", "list", "sales", "first")


def test_a_token_is_posted_once(line: CommandLine, token: str) -> None:
    assert "no JSON" in line.fails("steps", "post", token, "--payload", "yes")
    assert "'approval'" in line.run("steps", "post", token, "--payload", '"yes"').output
    assert "posted already" in line.fails("steps", "post", token)
    assert line.json("steps", "show", "sales", "first", "fetch")[1]["value"] == "yes"


def test_code_is_accepted_and_steps_are_discarded(line: CommandLine, token: str, database: Database) -> None:
    assert token
    assert "nothing to accept" in line.fails("steps", "accept", "sales", "first", "fetch")
    with database.begin() as connection:
        execute(connection, "UPDATE durable_journal SET refused_plan = 'two'")
    assert "Code two goes on" in line.run("steps", "accept", "sales", "first", "fetch").output
    assert "--yes" in line.fails("steps", "discard", "sales", "first", "fetch", code=2)
    assert "Discarded" in line.run("steps", "discard", "sales", "first", "fetch", "--yes").output
    assert line.json("steps", "list", "sales") == []
