"""``dags``, ``tasks`` and ``backfill`` on a real database, with a scheduler where runs have to go on."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.integration.cli.conftest import Running
from tests.support.command_line import CommandLine
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import DagDocument, ParamDocument, ScheduleDocument, TaskDocument
from treadle_metadata import dag_warnings
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_worker.protocol import Workload

DAILY = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), timezone="Europe/Berlin", summary="0 0 * * *")
SALES = a_dag(
    "sales",
    TaskDocument("extract", operator="PythonOperator"),
    TaskDocument("load", operator="PythonOperator", upstream=("extract",)),
    schedule=DAILY,
    timezone="Europe/Berlin",
    start_date="2026-01-01T00:00:00+00:00",
    params=(ParamDocument("country", "DE", schema={"type": "string"}),),
)


def load_fails(workload: Workload) -> dict[str, object]:
    """Let the task ``load`` fail."""
    if workload["task_id"] != "load":
        return {"outcome": "success"}
    return {"outcome": "failed", "error": {"kind": "exception", "type": "ValueError", "message": "bad row"}}


@pytest.fixture
def sales(scheduler: TestScheduler) -> DagDocument:
    # No run of the schedule is due: tests make the runs.
    scheduler.install(SALES, schedule_summary="0 0 * * *", tags=["shop"], owners=["ann"])
    return SALES


def test_list_shows_dags_by_tag_and_pause(line: CommandLine, sales: DagDocument, scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("other"), is_paused=True)
    assert [one["dag_id"] for one in line.json("dags", "list")] == ["other", "sales"]
    assert [one["dag_id"] for one in line.json("dags", "list", "--tag", "shop")] == ["sales"]
    assert [one["dag_id"] for one in line.json("dags", "list", "--paused")] == ["other"]
    header, *found = line.ok("dags", "list").splitlines()
    assert header.startswith("dag_id\tschedule\tis_paused\t")
    assert [one.split("\t")[:3] for one in found] == [["other", "", "yes"], ["sales", "0 0 * * *", "no"]]


def test_details_tell_what_the_document_says(line: CommandLine, sales: DagDocument) -> None:
    record = line.json("dags", "details", "sales")
    assert (record["tasks"], record["params"], record["timezone"]) == (
        ["extract", "load"],
        {"country": "DE"},
        "Europe/Berlin",
    )
    assert "did you mean 'sales'?" in line.fails("dags", "details", "sale")


def test_pause_and_unpause_say_what_changed(line: CommandLine, sales: DagDocument) -> None:
    assert line.run("dags", "pause", "sales").stderr == "DAG sales is now paused.\n"
    assert line.run("dags", "pause", "sales").stderr == "DAG sales is already paused.\n"
    assert line.json("dags", "list")[0]["is_paused"] is True
    assert line.run("dags", "unpause", "sales").stderr == "DAG sales is now unpaused.\n"
    assert "did you mean 'sales'?" in line.fails("dags", "pause", "sales", "sale")


def test_trigger_prints_the_run_id_alone(line: CommandLine, sales: DagDocument) -> None:
    run_id = line.ok("dags", "trigger", "sales").strip()
    assert [one["run_id"] for one in line.json("dags", "list-runs", "sales")] == [run_id]
    record = line.json("dags", "trigger", "sales", "--run-id", "mine", "--conf", '{"country": "DK"}', "--note", "n")
    assert (record["run_id"], record["conf"], record["note"], record["triggered_by"]) == (
        "mine",
        {"country": "DK"},
        "n",
        "cli",
    )


def test_a_logical_date_is_in_the_zone_of_the_dag(line: CommandLine, sales: DagDocument) -> None:
    assert line.json("dags", "trigger", "sales", "-l", "2026-03-01")["logical_date"] == "2026-02-28T23:00:00Z"
    assert "already" in line.fails("dags", "trigger", "sales", "-l", "2026-03-01")


def test_trigger_refuses_what_cannot_run(line: CommandLine, sales: DagDocument) -> None:
    assert "did you mean 'sales'?" in line.fails("dags", "trigger", "sale")
    assert "country" in line.fails("dags", "trigger", "sales", "--conf", '{"country": 7}')
    assert "is not JSON" in line.fails("dags", "trigger", "sales", "--conf", "{", code=2)
    assert "run id" in line.fails("dags", "trigger", "sales", "--run-id", "../x")


def test_trigger_says_when_a_pause_holds_the_run_back(line: CommandLine, scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("asleep"), is_paused=True)
    assert "until `treadle dags unpause asleep`" in line.run("dags", "trigger", "asleep").stderr


def test_wait_ends_with_0_when_the_run_succeeds(line: CommandLine, sales: DagDocument, running: Running) -> None:
    with running():
        result = line.run("dags", "trigger", "sales", "--wait", "--timeout", "20")
    assert result.exit_code == 0
    assert ": success after " in result.stderr


def test_wait_ends_with_1_and_names_the_failed_task(line: CommandLine, sales: DagDocument, running: Running) -> None:
    with running(load_fails):
        result = line.run("dags", "trigger", "sales", "--run-id", "r1", "--wait", "--timeout", "20", "-o", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["state"] == "failed"
    assert "treadle tasks logs sales load r1" in result.stderr


def test_waiting_ends_after_its_time(line: CommandLine, sales: DagDocument) -> None:
    error = line.fails("dags", "trigger", "sales", "--run-id", "r1", "--wait", "--timeout", "0.1")
    assert "run r1 of DAG sales was not over after 0.1 s; it goes on" in error


def test_ctrl_c_ends_the_waiting_and_not_the_run(
    line: CommandLine, sales: DagDocument, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("treadle_cli.waiting.time.sleep", interrupted)
    assert "stopped waiting; run r1 of DAG sales goes on" in line.fails(
        "dags", "trigger", "sales", "--run-id", "r1", "--wait", code=130
    )
    assert line.json("dags", "list-runs", "sales")[0]["state"] == "queued"


def test_list_runs_filters_by_state_and_date(line: CommandLine, sales: DagDocument) -> None:
    for day in ("2026-03-01", "2026-03-02", "2026-03-03"):
        line.ok("dags", "trigger", "sales", "-l", day)
    found = line.json("dags", "list-runs", "sales", "-s", "2026-03-02", "-e", "2026-03-02")
    assert [one["logical_date"] for one in found] == ["2026-03-01T23:00:00Z"]
    assert line.json("dags", "list-runs", "sales", "--state", "failed") == []
    assert len(line.json("dags", "list-runs", "sales", "--limit", "2")) == 2


def test_import_errors_are_listed_and_end_with_1(line: CommandLine, scheduler: TestScheduler) -> None:
    assert line.json("dags", "list-import-errors") == []
    with scheduler.database.begin() as connection:
        execute(
            connection,
            "INSERT INTO import_error (file, line, message, stacktrace, occurred_at)"
            " VALUES ('bad.py', 3, 'ZeroDivisionError: division by zero', '', now())",
        )
    result = line.run("dags", "list-import-errors", "-o", "json")
    assert result.exit_code == 1
    assert [(one["file"], one["line"]) for one in json.loads(result.stdout)] == [("bad.py", 3)]


def test_warnings_are_listed_of_all_dags_or_of_one(line: CommandLine, scheduler: TestScheduler) -> None:
    for dag_id in ("kept", "sales"):
        scheduler.install(a_dag(dag_id, TaskDocument("only")))
    assert "No warnings." in line.run("dags", "list-warnings").stderr
    with scheduler.database.begin() as connection:
        dag_warnings.warn(connection, "pool", {"sales": "pool 'x' does not exist"}, now=scheduler.clock.now())
    (warning,) = line.json("dags", "list-warnings")
    assert (warning["dag_id"], warning["kind"], warning["message"]) == ("sales", "pool", "pool 'x' does not exist")
    assert line.json("dags", "list-warnings", "kept") == []
    assert "did you mean 'sales'?" in line.fails("dags", "list-warnings", "salse")


def test_delete_takes_the_whole_history(line: CommandLine, sales: DagDocument, scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("kept", TaskDocument("only")))
    kept = line.ok("dags", "trigger", "kept").strip()
    line.ok("dags", "trigger", "sales")
    assert "1 unfinished" in line.fails("dags", "delete", "sales", "--yes")
    scheduler.clock.set(datetime.now(UTC))
    scheduler.beats()
    assert "--yes" in line.fails("dags", "delete", "sales", code=2)
    line.ok("dags", "delete", "sales", "--yes")
    assert [one["dag_id"] for one in line.json("dags", "list", "--all")] == ["kept"]
    with scheduler.database.begin() as connection:
        for table in ("dag_run", "task_instance", "task_attempt", "dag_version"):
            assert len(rows(connection, f"SELECT 1 FROM {table}")) == 1, table
    assert line.json("tasks", "states", "kept", kept)[0]["state"] == "success"


def test_tasks_list_stands_in_topological_order(line: CommandLine, sales: DagDocument) -> None:
    found = line.json("tasks", "list", "sales")
    assert [(one["task_id"], one["upstream"]) for one in found] == [("extract", []), ("load", ["extract"])]


def test_states_are_of_the_newest_run_or_of_the_one_named(
    line: CommandLine, sales: DagDocument, scheduler: TestScheduler
) -> None:
    assert "has no run yet" in line.fails("tasks", "states", "sales")
    line.ok("dags", "trigger", "sales", "-l", "2026-03-01", "--run-id", "first")
    scheduler.clock.set(datetime.now(UTC))
    scheduler.beats()
    for named in ((), ("first",), ("2026-03-01",)):
        assert {one["task_id"]: one["state"] for one in line.json("tasks", "states", "sales", *named)} == {
            "extract": "success",
            "load": "success",
        }
    assert "run '2026-03-02' of DAG 'sales' was not found" in line.fails("tasks", "states", "sales", "2026-03-02")


def test_clear_previews_what_it_clears(line: CommandLine, sales: DagDocument, scheduler: TestScheduler) -> None:
    for day in ("2026-03-14", "2026-03-15", "2026-03-16"):
        line.ok("dags", "trigger", "sales", "-l", day, "--run-id", day)
    scheduler.clock.set(datetime.now(UTC))
    scheduler.beats()
    wanted = ("tasks", "clear", "sales", "-s", "2026-03-15", "-e", "2026-03-15", "-t", "extract", "--downstream")
    preview = line.json(*wanted, "--dry-run")
    assert {(one["run_id"], one["task_id"]) for one in preview} == {("2026-03-15", "extract"), ("2026-03-15", "load")}
    assert "--yes" in line.fails(*wanted, code=2)
    assert "Cleared 2 task instances of 1 run." in line.run(*wanted, "--yes").stderr
    assert {one["state"] for one in line.json("tasks", "states", "sales", "2026-03-15")} == {"none"}
    assert {one["state"] for one in line.json("tasks", "states", "sales", "2026-03-14")} == {"success"}
    assert "There is nothing to clear." in line.run("tasks", "clear", "sales", "-f", "-o", "table").stderr


def test_clear_refuses_a_bad_regular_expression(line: CommandLine, sales: DagDocument) -> None:
    assert "task regex" in line.fails("tasks", "clear", "sales", "-t", "(")


def log_of(line: CommandLine, settings: Settings, scheduler: TestScheduler, *texts: str) -> Path:
    """Make a run whose task ``extract`` has one try with these log lines."""
    line.ok("dags", "trigger", "sales", "--run-id", "r1")
    now = datetime.now(UTC)
    scheduler.clock.set(now)
    scheduler.beats()
    with scheduler.database.begin() as connection:
        (attempt,) = rows(connection, "SELECT * FROM task_attempt WHERE log_path LIKE '%%extract%%'")
    path: Path = settings.path("logs_folder") / attempt["log_path"]
    path.parent.mkdir(parents=True)
    one = {"time": "2026-03-01T06:00:00.123456Z", "level": "info", "source": "stdout"}
    path.write_text("".join(json.dumps(one | {"text": text}) + "\n" for text in texts))
    return path


def test_logs_print_time_level_and_text(
    line: CommandLine, sales: DagDocument, scheduler: TestScheduler, settings: Settings
) -> None:
    log_of(line, settings, scheduler, "first", "second")
    expected = "2026-03-01 06:00:00.123 INFO    first\n2026-03-01 06:00:00.123 INFO    second\n"
    assert line.ok("tasks", "logs", "sales", "extract") == expected
    assert line.ok("tasks", "logs", "sales", "extract", "r1", "--try", "1", "--follow") == expected
    assert [json.loads(one)["text"] for one in line.ok("tasks", "logs", "sales", "extract", "--raw").splitlines()] == [
        "first",
        "second",
    ]


def test_logs_that_are_not_there_are_told(
    line: CommandLine, sales: DagDocument, scheduler: TestScheduler, settings: Settings
) -> None:
    log_of(line, settings, scheduler, "first")
    assert "try 1 wrote no log" in line.run("tasks", "logs", "sales", "load").stderr
    assert "try '2' of task instance 'extract' was not found" in line.fails(
        "tasks", "logs", "sales", "extract", "--try", "2"
    )
    assert "did you mean 'extract'?" in line.fails("tasks", "logs", "sales", "extrct")


def test_the_log_of_a_suspended_try_is_shown(
    line: CommandLine, sales: DagDocument, scheduler: TestScheduler, settings: Settings
) -> None:
    log_of(line, settings, scheduler, "Not yet")
    with scheduler.database.begin() as connection:
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        connection.exec_driver_sql(
            "UPDATE task_instance SET state = 'up_for_reschedule', try_number = 0 WHERE task_id = 'extract'"
        )
    assert "Not yet" in line.ok("tasks", "logs", "sales", "extract")


@pytest.mark.parametrize("way", [(), ("--follow",), ("--raw",)])
def test_a_try_that_wrote_no_log_is_no_error(
    line: CommandLine, sales: DagDocument, scheduler: TestScheduler, settings: Settings, way: tuple[str, ...]
) -> None:
    log_of(line, settings, scheduler).unlink()
    with scheduler.database.begin() as connection:
        connection.exec_driver_sql("UPDATE task_attempt SET ended_at = queued_at, outcome = 'success'")
    answer = line.run("tasks", "logs", "sales", "extract", *way)
    assert (answer.exit_code, answer.stdout, answer.stderr) == (0, "", "try 1 wrote no log\n")


def test_follow_waits_for_a_try_that_is_still_to_come(
    line: CommandLine,
    sales: DagDocument,
    scheduler: TestScheduler,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log_of(line, settings, scheduler, "first try")
    line.ok("tasks", "clear", "sales", "-t", "extract", "--yes")
    looks: list[float] = []

    def a_moment_later(seconds: float) -> None:
        looks.append(seconds)
        scheduler.clock.set(datetime.now(UTC))
        scheduler.beats()

    monkeypatch.setattr("treadle_cli.commands.tasks.logs.time.sleep", a_moment_later)
    result = line.run("tasks", "logs", "sales", "extract", "--follow")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "waiting for task extract to start: its state is none" in result.stderr
    assert len(looks) == 1


def test_a_dry_backfill_lists_dates_in_the_zone_of_the_dag(line: CommandLine, sales: DagDocument) -> None:
    dates = ("--start-date", "2026-03-01", "--end-date", "2026-03-03")
    planned = line.json("dags", "backfill", "sales", *dates, "--dry-run")
    assert [(one["logical_date"], one["action"]) for one in planned] == [
        ("2026-02-28T23:00:00Z", "create"),
        ("2026-03-01T23:00:00Z", "create"),
        ("2026-03-02T23:00:00Z", "create"),
    ]
    assert line.json("backfill", "list") == []


def test_a_backfill_waits_for_its_runs(line: CommandLine, sales: DagDocument, running: Running) -> None:
    dates = ("--from-date", "2026-03-01", "--to-date", "2026-03-03")
    with running():
        result = line.run("backfill", "create", "--dag-id", "sales", *dates, "--max-active-runs", "2", "--wait")
    assert result.exit_code == 0, result.output
    assert "3 new runs" in result.stderr
    assert "3 runs succeeded, 0 failed." in result.stderr


def test_a_backfill_with_a_failed_run_ends_with_1(line: CommandLine, sales: DagDocument, running: Running) -> None:
    with running(load_fails):
        result = line.run("dags", "backfill", "sales", "-s", "2026-03-01", "-e", "2026-03-01", "--wait")
    assert result.exit_code == 1
    assert "0 runs succeeded, 1 failed." in result.stderr


def test_a_backfill_is_paused_and_cancelled(line: CommandLine, sales: DagDocument) -> None:
    line.ok("dags", "backfill", "sales", "-s", "2026-03-01", "-e", "2026-03-02")
    (one,) = line.json("backfill", "list", "--active")
    assert "under way" in line.fails("dags", "backfill", "sales", "-s", "2026-03-01", "-e", "2026-03-02")
    line.ok("backfill", "pause", str(one["id"]))
    assert line.json("backfill", "list")[0]["is_paused"] is True
    line.ok("backfill", "unpause", str(one["id"]))
    line.ok("backfill", "cancel", str(one["id"]))
    assert line.json("backfill", "list", "--active") == []
    assert {run["state"] for run in line.json("dags", "list-runs", "sales")} == {"failed"}
    assert "was not found" in line.fails("backfill", "cancel", "4711")


def test_a_backfill_names_one_dag(line: CommandLine, sales: DagDocument) -> None:
    assert "name one DAG" in line.fails("dags", "backfill", "-s", "2026-03-01", "-e", "2026-03-02", code=2)
