"""What people do to runs on the command line: clear, mark, delete, look at the code; and what they are told."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.versions import add_version

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import clock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

A, B = TaskDocument("a"), TaskDocument("b", upstream=("a",))
DAILY = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), style="trigger")


@pytest.fixture
def scheduler(database: Database, settings: Settings) -> TestScheduler:
    now = clock.ManualClock(datetime.now(UTC))
    made = TestScheduler(database, settings, now)
    made.executor.outcome = lambda one: {"outcome": "failed" if one["task_id"] == "b" else "success"}
    made.install(a_dag("d", A, B), schedule_summary="0 0 * * *")
    with database.begin() as connection:
        document = a_dag("d", A, B, schedule=DAILY, start_date="2026-01-01T00:00:00+00:00")
        add_version(connection, document, now=now.now(), code="first text\n")
    made.trigger("d", run_id="r1")
    made.beats()
    return made


def deploy(scheduler: TestScheduler) -> None:
    document = a_dag("d", A, B, TaskDocument("c"), schedule=DAILY, start_date="2026-01-01T00:00:00+00:00")
    with scheduler.database.begin() as connection:
        add_version(connection, document, now=scheduler.clock.now(), code="second text\n")


def test_a_clear_onto_the_latest_version_says_what_is_cleared_and_added(
    line: CommandLine, scheduler: TestScheduler
) -> None:
    deploy(scheduler)
    told = line.run("tasks", "clear", "d", "b", "--run-id", "r1", "--dry-run").stderr
    assert "1 run of an older version of the DAG: that one runs again, unless --latest is given" in told
    assert "older" not in line.run("tasks", "clear", "d", "b", "--run-id", "r1", "--latest", "--dry-run").stderr
    shown = line.json("tasks", "clear", "d", "b", "--run-id", "r1", "--latest", "--dry-run")
    assert [(one["task_id"], one["action"]) for one in shown] == [("b", "clear"), ("c", "add")]
    assert (
        "Cleared 1 task instance of 1 run"
        in line.run("tasks", "clear", "d", "b", "--run-id", "r1", "--latest", "--yes").stderr
    )
    scheduler.beats()
    assert set(scheduler.task_states("r1")) == {"a", "b", "c"}


def test_whole_runs_are_cleared(line: CommandLine, scheduler: TestScheduler) -> None:
    assert "of 1 run" in line.run("dags", "clear", "d", "--run-id", "r1", "--yes").stderr
    assert scheduler.task_states("r1") == {"a": "none", "b": "none"}
    assert "name it with --run-id" in line.fails("dags", "clear", "d", "--past", code=2)


def test_instances_and_runs_are_marked(line: CommandLine, scheduler: TestScheduler) -> None:
    assert line.json("tasks", "mark", "d", "success", "b", "--run-id", "r1", "--dry-run")[0]["action"] == "success"
    line.ok("tasks", "mark", "d", "success", "b", "--run-id", "r1", "--yes")
    assert scheduler.task_states("r1") == {"a": "success", "b": "success"}
    looked = line.run("runs", "mark", "d", "r1", "success", "--dry-run")
    assert looked.stdout == "task_id\tstate\tnew_state\n"
    assert looked.stderr.splitlines() == [
        "No task instance changes.",
        "Run r1 of DAG d would be success. Nothing was changed.",
    ]
    assert "Run r1 of DAG d is success." in line.run("runs", "mark", "d", "r1", "success", "--yes").stderr
    assert "is success already" in line.fails("runs", "mark", "d", "r1", "success", "--yes")


def test_a_run_is_deleted_and_its_logs_are_named(
    line: CommandLine, scheduler: TestScheduler, settings: Settings
) -> None:
    folder = settings.path("logs_folder") / "d" / "r1"
    folder.mkdir(parents=True)
    assert f"Its logs stay in {folder}." in line.run("runs", "delete", "d", "r1", "--yes").stderr
    assert scheduler.run_states("d") == {}
    assert f"Its logs stay in {folder.parent}." in line.run("dags", "delete", "d", "--yes").stderr


def test_a_dag_is_deleted_with_its_logs_if_asked(
    line: CommandLine, scheduler: TestScheduler, settings: Settings
) -> None:
    folder = settings.path("logs_folder") / "d" / "r1"
    folder.mkdir(parents=True)
    line.ok("dags", "delete", "d", "--logs", "--yes")
    assert not folder.parent.exists()
    assert folder.parent.parent.exists()


def test_the_code_of_an_attempt_is_shown_whatever_the_file_has_now(line: CommandLine, scheduler: TestScheduler) -> None:
    deploy(scheduler)
    assert line.ok("tasks", "code", "d", "a", "r1") == "first text\n"
    assert "try '7' of task instance 'a' was not found" in line.fails("tasks", "code", "d", "a", "r1", "--try", "7")
    assert "+second text" in line.ok("dags", "diff", "d", "2", "3", "--code")


def test_a_logical_date_that_is_taken_names_the_run_that_has_it(line: CommandLine, scheduler: TestScheduler) -> None:
    line.ok("dags", "trigger", "d", "--run-id", "mine", "-l", "2026-01-05")
    told = line.fails("dags", "trigger", "d", "-l", "2026-01-05")
    assert "DAG 'd' has run 'mine' for the logical date 2026-01-05T00:00:00+00:00 already, and it is queued" in told
    told = line.fails("dags", "trigger", "d", "--run-id", "mine")
    assert "DAG 'd' has a run with id 'mine' already" in told


def test_a_broken_file_is_named_when_its_dag_is_triggered_or_missed(
    line: CommandLine, scheduler: TestScheduler
) -> None:
    with scheduler.database.begin() as connection:
        for file in ("d.py", "weather.py"):
            connection.exec_driver_sql(
                "INSERT INTO import_error (file, message, stacktrace, occurred_at)"
                " VALUES (%(file)s, 'line 3: boom\nmore', '', now())",
                {"file": file},
            )
    told = line.run("dags", "trigger", "d").stderr
    assert "d.py cannot be read now, so the run uses version 2: line 3: boom\n" in told
    told = line.fails("dags", "trigger", "wether")
    assert "DAG 'wether' was not found; its file may be weather.py, which cannot be read" in told


def test_a_backfill_is_shown_with_its_dates_and_resumed(line: CommandLine, scheduler: TestScheduler) -> None:
    line.ok("backfill", "create", "--dag-id", "d", "-s", "2026-01-01", "-e", "2026-01-03")
    (one,) = line.json("backfill", "list")
    number = str(one["id"])
    assert line.json("backfill", "show", number)["runs_queued"] == 3
    assert [date["state"] for date in line.json("backfill", "show", number, "--dates")] == ["queued"] * 3
    line.ok("backfill", "pause", number)
    assert line.json("backfill", "show", number)["state"] == "paused"
    line.ok("backfill", "resume", number)
    scheduler.executor.outcome = lambda _: {"outcome": "success"}
    scheduler.beats()
    assert line.json("backfill", "show", number)["state"] == "completed"
    assert "3 runs succeeded, 0 failed" in line.run("backfill", "show", number, "--watch").stderr


def test_minus_one_slots_are_no_limit(line: CommandLine, scheduler: TestScheduler) -> None:
    assert line.run("pools", "set", "q", "-1").stderr == "Pool q has no limit.\n"
