"""Commands that read DAG files in this process: no server, no database."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine

DAILY = """
from datetime import datetime
from treadle import DAG, dag, task

@dag(schedule="30 2 * * *", start_date=datetime(2026, 1, 1), params={"country": "DE"}, catchup=False)
def daily_sales():
    @task
    def extract(params):
        print("printed by a task")
        return [params["country"], 1]

    @task
    def load(rows):
        return len(rows)

    load(extract())

daily_sales()
"""

OWN_TIMETABLE = """
from treadle import DAG
from treadle.timetables import DataInterval, Timetable

class Own(Timetable):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        BODY

    def infer_manual_data_interval(self, *, run_after):
        return DataInterval.exact(run_after)

dag = DAG("own", schedule=Own())
"""

BROKEN_TASK = """
from treadle import dag, task

@dag
def half_broken():
    @task
    def fails():
        raise ValueError("no such shop")

    @task
    def after(x): ...

    after(fails())

half_broken()
"""


@pytest.fixture
def line(home: Path) -> Iterator[CommandLine]:
    (home / "dags" / "daily.py").write_text(DAILY)
    path, modules = list(sys.path), set(sys.modules)
    yield CommandLine({"TREADLE_HOME": str(home)})
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("dag_file_"):
            del sys.modules[name]


def save(line: CommandLine, name: str, text: str) -> Path:
    path = Path(line.environment["TREADLE_HOME"]) / "dags" / name
    path.write_text(text)
    return path


def test_show_draws_the_graph(line: CommandLine) -> None:
    result = line.run("dags", "show", "daily_sales")
    assert result.stdout == "extract ──> load\n"
    assert result.stderr == "daily_sales: 2 tasks, schedule 30 2 * * *\n"


@pytest.mark.parametrize(("name", "beginning"), [("x.svg", "<svg "), ("x.dot", "digraph ")])
def test_show_saves_pictures_without_any_program(
    line: CommandLine, tmp_path: Path, name: str, beginning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    line.ok("dags", "show", "daily_sales", "--save", str(tmp_path / name))
    assert (tmp_path / name).read_text().startswith(beginning)


def test_show_without_graphviz_names_the_way_out_of_a_png(
    line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    error = line.fails("dags", "show", "daily_sales", "--save", str(tmp_path / "x.png"))
    assert "Graphviz" in error
    assert "x.svg" in error


def test_show_makes_a_png_with_the_program_dot(
    line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\n[ "$1 $2" = "-Tpng -o" ] && /bin/cat > "$3"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    line.ok("dags", "show", "daily_sales", "--save", str(tmp_path / "x.png"))
    assert (tmp_path / "x.png").read_text().startswith("digraph")


def test_show_refuses_other_endings(line: CommandLine) -> None:
    assert ".svg, .dot, .png" in line.fails("dags", "show", "daily_sales", "--save", "x.gif", code=2)


def test_a_misspelt_dag_is_answered_with_the_nearest_one(line: CommandLine) -> None:
    assert "did you mean 'daily_sales'?" in line.fails("dags", "show", "daily_sale")


def test_a_dag_outside_of_the_folder_is_named_by_its_file(line: CommandLine, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_text(DAILY.replace("daily_sales", "other"))
    assert "extract" in line.ok("dags", "show", "other", "--file", str(elsewhere))
    assert "was not found" in line.fails("dags", "show", "other")


def test_a_broken_file_is_named_with_its_line(line: CommandLine) -> None:
    path = save(line, "broken.py", "from treadle import DAG\n\n1 / 0\n")
    error = line.fails("dags", "show", "x", "--file", "broken.py")
    assert error == f"Error: {path}, line 3: ZeroDivisionError: division by zero\n"


def test_a_syntax_error_is_named_with_its_line(line: CommandLine) -> None:
    save(line, "broken.py", "from treadle import DAG\ndef x(:\n")
    assert "broken.py, line 2: " in line.fails("dags", "show", "x", "--file", "broken.py")


def test_a_broken_file_does_not_hide_the_dag_of_another(line: CommandLine) -> None:
    save(line, "a_broken.py", "from treadle import DAG\n'daily_sales'\n1 / 0\n")
    assert "extract" in line.ok("dags", "show", "daily_sales")
    assert "one file cannot be run: " in line.fails("dags", "show", "unknown")


def test_an_invalid_dag_of_another_file_is_not_the_answer(line: CommandLine) -> None:
    save(line, "a_invalid.py", 'from treadle import DAG\n"daily_sales"\ndag = DAG("other", schedule="@dayly")\n')
    assert "extract" in line.ok("dags", "show", "daily_sales")
    error = line.fails("dags", "show", "daily_sale")
    assert "was not found" in error
    assert "did you mean 'daily_sales'" in error
    assert "did you mean '@daily'" in line.fails("dags", "show", "other")


def test_dags_test_shows_states_results_and_exit_code_0(line: CommandLine) -> None:
    result = line.run("dags", "test", "daily_sales", "2026-03-01", "--conf", '{"country": "DK"}', "-o", "json")
    assert result.exit_code == 0
    shown = json.loads(result.stdout)
    assert shown["run_id"] == "manual__2026-03-01T00:00:00+00:00"
    assert [(one["task_id"], one["state"], one["xcoms"]["return_value"]) for one in shown["tasks"]] == [
        ("extract", "success", ["DK", 1]),
        ("load", "success", 2),
    ]
    assert "printed by a task" in result.stderr


def test_dags_test_of_a_failing_dag_tells_where_and_ends_with_1(line: CommandLine) -> None:
    save(line, "half.py", BROKEN_TASK)
    result = line.run("dags", "test", "half_broken")
    assert result.exit_code == 1
    assert "no such shop" in result.stderr
    assert "half.py" in result.stderr
    rows = [row.split("\t") for row in result.stdout.splitlines()]
    assert [row[:2] for row in rows] == [["task_id", "state"], ["fails", "failed"], ["after", "upstream_failed"]]


def test_dags_test_refuses_a_conf_that_does_not_fit(line: CommandLine) -> None:
    assert "is not JSON" in line.fails("dags", "test", "daily_sales", "--conf", "{", code=2)
    assert "is not a JSON object" in line.fails("dags", "test", "daily_sales", "--conf", "[1]", code=2)


def test_tasks_test_runs_one_task_with_given_results(line: CommandLine) -> None:
    row = json.loads(line.ok("tasks", "test", "daily_sales", "load", "--xcoms", '{"extract": [1, 2, 3]}', "-o", "json"))
    assert (row["state"], row["xcoms"]) == ("success", {"return_value": 3})


def test_tasks_test_of_a_failing_task_ends_with_1(line: CommandLine) -> None:
    save(line, "half.py", BROKEN_TASK)
    result = line.run("tasks", "test", "half_broken", "fails")
    assert result.exit_code == 1
    assert "state\tfailed" in result.stdout


def test_tasks_test_of_an_unknown_task_names_the_nearest(line: CommandLine) -> None:
    assert "did you mean 'extract'?" in line.fails("tasks", "test", "daily_sales", "extrac")


def test_next_execution_shows_both_zones_and_daylight_saving(line: CommandLine) -> None:
    zoned = DAILY.replace("datetime(2026, 1, 1)", "datetime(2026, 1, 1, tzinfo=ZoneInfo('Europe/Berlin'))")
    save(line, "zoned.py", "from zoneinfo import ZoneInfo\n" + zoned.replace("daily_sales", "zoned"))
    after = ("--after", "2026-03-28T12:00", "--timezone", "America/New_York")
    rows = line.json("dags", "next-execution", "zoned", "-n", "3", *after)
    assert [row["run_after"] for row in rows] == [
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:30:00Z",
        "2026-03-31T00:30:00Z",
    ]
    assert rows[0]["dag_zone"] == "Sun 2026-03-29 03:00:00 +0200"
    assert rows[0]["your_zone"] == "Sat 2026-03-28 21:00:00 -0400"
    assert rows[0]["dst"] is True
    assert "gap" in rows[0]["note"]
    assert rows[1]["note"] == ""


def test_next_execution_of_a_dag_without_schedule_says_so(line: CommandLine) -> None:
    save(line, "half.py", BROKEN_TASK)
    result = line.run("dags", "next-execution", "half_broken", "-o", "table")
    assert (result.exit_code, result.stderr) == (
        0,
        "DAG half_broken has no schedule: it runs only when it is triggered.\n",
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [("while True: pass", "gave no answer in 0.2 s"), ("raise KeyError(2027)", "failed: KeyError: 2027")],
)
def test_a_timetable_of_ones_own_that_hangs_or_fails_is_told_in_one_line(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch, body: str, told: str
) -> None:
    monkeypatch.setattr("treadle_cli.commands.dags.next_execution._MOST_SECONDS", 0.2)
    save(line, "own.py", OWN_TIMETABLE.replace("BODY", body))
    assert line.fails("dags", "next-execution", "own") == f"Error: the timetable of DAG 'own' {told}\n"


def test_an_unknown_zone_is_one_clear_line(line: CommandLine) -> None:
    error = line.fails("dags", "next-execution", "daily_sales", "--timezone", "Mars/Base")
    assert "Mars/Base" in error
    assert error.count("\n") == 1


def test_an_unreadable_date_is_wrong_usage(line: CommandLine) -> None:
    assert "'soon' is not a date" in line.fails("dags", "test", "daily_sales", "soon", code=2)
