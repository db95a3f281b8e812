"""``treadle humans`` on a real database."""

from __future__ import annotations

import pytest
from tests.support.asking import ask
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings


@pytest.fixture
def asked(scheduler: TestScheduler, database: Database, settings: Settings) -> tuple[str, str, str]:
    """Task ``fetch`` of run ``first`` of DAG ``sales``, which asks ann."""
    scheduler.install(a_dag("sales", TaskDocument("fetch")))
    scheduler.trigger("sales", run_id="first")
    scheduler.beats()
    form = {"days": {"value": 3, "has_value": True, "schema": {}, "description": None}}
    with database.begin() as connection:
        assigned = [{"id": "ann", "name": "ann"}]
        ask(connection, settings, scheduler.clock.now(), params=form, assignees=assigned)
    return "sales", "first", "fetch"


def test_questions_are_listed_shown_and_answered_once(line: CommandLine, asked: tuple[str, str, str]) -> None:
    (one,) = line.json("humans", "list")
    assert (one["task_id"], one["subject"], one["options"], one["for"]) == ("fetch", "Go?", ["yes", "no"], "ann")
    assert line.json("humans", "list", "--dag-id", "other") == []
    assert "Go?" in line.ok("humans", "show", *asked)
    assert "NAME=VALUE" in line.fails("humans", "answer", *asked, "yes", "--param", "days")
    assert "no option" in line.fails("humans", "answer", *asked, "maybe")
    assert "Answered 'Go?' with yes" in line.run("humans", "answer", *asked, "yes", "-p", "days=5").output
    assert "was answered by cli:" in line.fails("humans", "answer", *asked, "no")
    assert line.json("humans", "list") == []
    (answered,) = line.json("humans", "list", "--all")
    assert (answered["chosen"], answered["is_open"]) == (["yes"], False)
    assert line.json("humans", "show", *asked)["given"] == {"days": 5}
