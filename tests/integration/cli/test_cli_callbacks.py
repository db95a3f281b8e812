"""``callbacks list``, ``callbacks logs`` and ``deadlines list`` on a real database."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import DeadlineDocument, TaskDocument
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_worker.protocol import Workload

MINUTE = DeadlineDocument("dagrun_queued_at", 60.0, name="a minute", callback="alerts.page")


def outcome(workload: Workload) -> dict[str, Any]:
    error = {"kind": "exception", "type": "ValueError", "message": "no such channel"}
    failed = workload.get("callback", {}).get("event") == "run_success"
    return {"outcome": "failed", "error": error} if failed else {"outcome": "success"}


@pytest.fixture
def told(scheduler: TestScheduler) -> str:
    """A run that succeeded, whose callback failed, and one that is late."""
    scheduler.executor.outcome = outcome
    scheduler.install(a_dag("sales", TaskDocument("load"), callbacks=("success",)))
    scheduler.install(a_dag("slow", TaskDocument("load", pool="nowhere"), deadlines=(MINUTE,)))
    run_id = scheduler.trigger("sales", run_id="first")
    scheduler.trigger("slow", run_id="late")
    scheduler.beats()
    return run_id


def test_callbacks_are_listed_with_what_went_wrong(line: CommandLine, told: str) -> None:
    (row,) = line.json("callbacks", "list", "sales")
    assert (row["run_id"], row["event"], row["task_id"], row["state"]) == (told, "run_success", "load", "failed")
    assert row["error"] == "no such channel"
    assert line.json("callbacks", "list", "sales", told, "--state", "failed") == [row]
    assert line.json("callbacks", "list") == [row]
    assert line.json("callbacks", "list", "--state", "success") == []
    assert "no such channel" in line.ok("callbacks", "list")


def test_the_id_of_a_run_is_whole_on_a_narrow_terminal(
    line: CommandLine, told: str, scheduler: TestScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run_id = "manual__2026-11-30T11:06:19.991046+00:00_206e7159"
    scheduler.trigger("sales", run_id=run_id)
    scheduler.beats()
    assert run_id in line.ok("callbacks", "list", "-o", "table")
    assert run_id in line.ok("dags", "list-runs", "sales", "-o", "table")
    assert "description" in line.run("pools", "list", "-o", "table").stderr


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("kind", ["callbacks", "deadlines"])
def test_a_dag_that_is_not_there_is_told_of_with_the_nearest(line: CommandLine, kind: str) -> None:
    assert "did you mean 'sales'?" in line.fails(kind, "list", "salse")


def test_the_log_of_a_callback_is_printed(
    line: CommandLine, told: str, scheduler: TestScheduler, settings: Settings
) -> None:
    with scheduler.database.begin() as connection:
        (row,) = rows(connection, "SELECT id, log_path FROM callback")
    assert row["log_path"] == f"sales/first/callbacks/run_success.{row['id']}.jsonl"
    path = Path(settings.path("logs_folder")) / row["log_path"]
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"time": "2026-03-01T06:00:00", "level": "error", "text": "asking"}) + "\n")
    printed = line.run("callbacks", "logs", str(row["id"]))
    assert "asking" in printed.stdout
    assert "it failed: no such channel" in printed.stderr
    assert "no such channel" not in line.ok("callbacks", "logs", str(row["id"]), "--raw")
    assert "callback '999' was not found" in line.fails("callbacks", "logs", "999")


def test_deadlines_are_listed_as_they_are_missed(line: CommandLine, told: str, scheduler: TestScheduler) -> None:
    (row,) = line.json("deadlines", "list", "slow")
    assert (row["name"], row["reference"], row["missed"]) == ("a minute", "dagrun_queued_at", False)
    assert line.json("deadlines", "list", "--missed") == []
    scheduler.clock.advance(timedelta(minutes=2))
    scheduler.beats()
    (row,) = line.json("deadlines", "list", "--missed")
    assert (row["run_id"], row["missed"], row["run_state"], row["callback"]) == ("late", True, "running", "alerts.page")
    assert line.json("deadlines", "list", "slow", "late") == [row]
    assert line.json("deadlines", "list", "sales") == []
