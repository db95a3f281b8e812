"""Files come, change and go, and the database follows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection
from tests.support.parsing import Parsed, dag_text, running
from tests.support.waiting import wait_until

from treadle_metadata import resources
from treadle_metadata.connection import PARSE, notify
from treadle_scheduler.parsing import agenda, processor


def test_a_new_file_becomes_a_dag_with_all_that_its_pages_need(live: Parsed) -> None:
    live.write(
        "team/a.py",
        dag_text(
            "a",
            "schedule='0 6 * * *', start_date=datetime(2025, 1, 1), tags=['x', 'b'], max_active_runs=3, "
            "description='what it does', default_args={'owner': 'me'}",
        ),
    )
    row = live.wait_for_dag("a")
    assert row["file"] == "team/a.py"
    assert row["is_paused"]
    assert row["is_active"]
    assert not row["has_import_errors"]
    assert (row["tags"], row["owners"], row["max_active_runs"]) == (["b", "x"], ["me"], 3)
    assert row["description"] == "what it does"
    assert row["schedule_summary"] == "0 6 * * *"
    assert row["next_run_at"].hour == 6
    (version,) = live.versions("a")
    assert version["number"] == 1
    assert "EmptyOperator" in version["code"]
    assert [task["task_id"] for task in version["document"]["tasks"]] == ["first", "second"]
    assert row["parse_seconds"] > 0


@pytest.mark.parametrize(("dags", "line"), [(1, "1 new DAG version"), (2, "2 new DAG versions")])
def test_new_versions_are_counted_in_the_log(
    live: Parsed, caplog: pytest.LogCaptureFixture, dags: int, line: str
) -> None:
    caplog.set_level("INFO")
    live.write(
        "a.py", "from treadle import DAG\n" + "".join(f"d{number} = DAG('d{number}')\n" for number in range(dags))
    )
    wait_until(lambda: line in [record.getMessage() for record in caplog.records])


def test_an_edit_is_a_new_version_and_an_edit_of_a_function_only_new_text(live: Parsed) -> None:
    live.write("a.py", dag_text("a"))
    live.wait_for_dag("a")
    live.write("a.py", dag_text("a", extra="# a remark"))
    wait_until(lambda: live.versions("a")[0]["code"].endswith("# a remark\n"))
    assert [one["texts"] for one in live.versions("a")] == [2]
    live.write("a.py", dag_text("a", "description='new'"))
    row = live.wait_for_dag("a", description="new")
    assert [version["number"] for version in live.versions("a")] == [1, 2]
    assert row["version_id"] == live.versions("a")[1]["id"]


def test_a_failing_file_keeps_its_last_version_and_shows_its_error(live: Parsed) -> None:
    live.write("a.py", dag_text("a"))
    live.wait_for_dag("a")
    live.write("a.py", dag_text("a", extra="1 / 0"))
    row = live.wait_for_dag("a", has_import_errors=True)
    assert row["is_active"]
    assert len(live.versions("a")) == 1
    error = live.error("a.py")
    assert error is not None
    assert error["message"] == "a.py, line 7: ZeroDivisionError: division by zero"
    assert error["line"] == 7
    assert "1 / 0" in error["stacktrace"]
    live.write("a.py", dag_text("a"))
    live.wait_for_dag("a", has_import_errors=False)
    assert live.error("a.py") is None


def test_a_dag_goes_with_its_file_and_comes_back_with_its_history(live: Parsed) -> None:
    path = live.write("a.py", dag_text("a"))
    live.write("bad.py", "from treadle import dag\n1 / 0\n")
    live.wait_for_dag("a")
    live.wait_for_error("bad.py")
    path.unlink()
    (live.folder / "bad.py").unlink()
    live.wait_for_dag("a", is_active=False)
    assert live.error("bad.py") is None
    assert live.parsed_at("a.py") is None
    live.write("b.py", dag_text("a"))
    live.wait_for_dag("a", is_active=True, file="b.py")
    # The tasks are loaded from another file now: a version of its own.
    assert [version["number"] for version in live.versions("a")] == [1, 2]


def test_a_dag_that_its_file_no_longer_defines_is_inactive(live: Parsed) -> None:
    live.write("a.py", dag_text("a", extra="DAG('b')\nc = DAG('c')\n"))
    live.wait_for_dag("c")
    live.write("a.py", dag_text("a"))
    live.wait_for_dag("c", is_active=False)
    assert live.wait_for_dag("a")["is_active"]
    assert live.dag("b") is None


def test_an_edit_of_a_module_or_data_file_parses_the_files_that_read_it(
    live: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agenda, "INPUTS_SECONDS", 0.05)
    monkeypatch.setattr(processor, "INPUTS_SECONDS", 0.05)
    live.write("lib/names.py", "NAMES = ['one']\n")
    live.write("lib/more.txt", "two\n")
    live.write(
        "a.py",
        "import pathlib\nfrom treadle import DAG\nfrom lib.names import NAMES\n"
        "more = (pathlib.Path(__file__).parent / 'lib' / 'more.txt').read_text().split()\n"
        "more += [path.stem for path in (pathlib.Path(__file__).parent / 'lib').glob('*.yaml')]\n"
        "for name in NAMES + more:\n    globals()[name] = DAG(name)\n",
    )
    live.write("other.py", dag_text("other"))
    live.wait_for_dag("two")
    before = live.wait_for_parse("other.py")
    live.write("lib/names.py", "NAMES = ['One']\n")
    live.wait_for_dag("One")
    live.wait_for_dag("one", is_active=False)
    live.write("lib/more.txt", "two\nthree\n")
    live.wait_for_dag("three")
    live.write("lib/new.yaml", "")
    live.wait_for_dag("new")
    assert live.parsed_at("other.py") == before


def test_a_file_that_missed_a_module_is_parsed_when_the_module_comes(live: Parsed) -> None:
    live.write("a.py", dag_text("a", extra="import late_module"))
    live.wait_for_error("a.py", "No module named 'late_module'")
    live.write("late_module.py", "")
    live.wait_for_dag("a")


def test_two_files_with_one_dag_id_are_both_named_and_the_first_stays(live: Parsed) -> None:
    first = live.write("b.py", dag_text("a"))
    live.wait_for_dag("a")
    live.write("a.py", dag_text("a", "description='the second'", extra="other = DAG('other')"))
    error = live.wait_for_error("a.py", "defined in two files, b.py and a.py")
    assert error["line"] == 5
    live.wait_for_dag("other", has_import_errors=False)
    assert live.wait_for_dag("a")["file"] == "b.py"
    assert len(live.versions("a")) == 1
    first.unlink()
    live.wait_for_dag("a", file="a.py", description="the second", is_active=True)
    wait_until(lambda: live.error("a.py") is None)


def test_a_dag_that_another_file_imports_belongs_to_its_own_file(live: Parsed) -> None:
    live.write("base.py", "from treadle import DAG\nbase = DAG('base')\n")
    live.wait_for_dag("base")
    live.write("user.py", "from treadle import DAG\nfrom base import base\nuser = DAG('user')\n")
    live.wait_for_dag("user")
    assert live.error("user.py") is None
    assert live.wait_for_dag("base")["file"] == "base.py"


def test_an_unknown_pool_names_file_line_pool_and_the_nearest_one(live: Parsed) -> None:
    live.write("a.py", dag_text("a").replace('task_id="second"', 'task_id="second", pool="defualt_pool"'))
    error = live.wait_for_error("a.py")
    assert error["message"] == (
        "a.py, line 6: task 'second' of DAG 'a' names the pool 'defualt_pool', which does not exist; "
        "did you mean 'default_pool'? Else make it with 'treadle pools set' (known pools: default_pool)"
    )
    assert error["line"] == 6
    assert live.dag("a") is None


@pytest.mark.parametrize(
    "make",
    [
        lambda connection: resources.create_pool(connection, "gpu", 2),
        lambda connection: resources.set_pool(connection, "gpu", 2),
        lambda connection: resources.import_pools(connection, {"gpu": {"slots": 2}}),
    ],
    ids=["create", "set", "import"],
)
def test_a_dag_appears_as_soon_as_its_pool_is_made(live: Parsed, make: Callable[[Connection], object]) -> None:
    live.write("a.py", dag_text("a").replace('task_id="second"', 'task_id="second", pool="gpu"'))
    live.wait_for_error("a.py", "names the pool 'gpu'")
    with live.database.begin() as connection:
        make(connection)
    live.wait_for_dag("a")
    assert live.error("a.py") is None


def test_a_file_is_read_again_when_somebody_asks_for_it(live: Parsed) -> None:
    live.write("a.py", dag_text("a"))
    before = live.wait_for_dag("a")["last_parsed_at"]
    with live.database.begin() as connection:
        notify(connection, PARSE, "a.py")
    wait_until(lambda: live.wait_for_dag("a")["last_parsed_at"] > before)
    assert len(live.versions("a")) == 1


def test_a_pool_is_heard_of_after_the_database_cut_all_connections(live: Parsed) -> None:
    live.write("a.py", dag_text("a").replace('task_id="second"', 'task_id="second", pool="gpu"'))
    live.wait_for_error("a.py", "names the pool 'gpu'")
    with live.database.begin() as connection:
        resources.create_pool(connection, "gpu", 2)
        # Ends the listener before it can hear of the pool.
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND query LIKE 'LISTEN%%'"
        )
    live.wait_for_dag("a")


def test_a_dag_with_an_unknown_pool_keeps_its_last_version(live: Parsed) -> None:
    live.write("a.py", dag_text("a"))
    live.wait_for_dag("a")
    live.write("a.py", dag_text("a").replace('task_id="second"', 'task_id="second", pool="x"'))
    assert live.wait_for_dag("a", has_import_errors=True)["is_active"]
    assert len(live.versions("a")) == 1


@pytest.mark.parametrize(("by_default", "argument", "paused"), [(True, "False", False), (False, "True", True)])
def test_a_dag_may_say_whether_it_begins_paused(parsed: Parsed, by_default: bool, argument: str, paused: bool) -> None:
    parsed.settings = replace(parsed.settings, dags_are_paused_at_creation=by_default)
    parsed.write("a.py", dag_text("a", f"is_paused_upon_creation={argument}"))
    parsed.write("b.py", dag_text("b"))
    with running(parsed):
        assert parsed.wait_for_dag("a")["is_paused"] is paused
        assert parsed.wait_for_dag("b")["is_paused"] is by_default
        with parsed.database.begin() as connection:
            connection.exec_driver_sql("UPDATE dag SET is_paused = NOT is_paused")
        parsed.write("a.py", dag_text("a", f"is_paused_upon_creation={argument}, description='new'"))
        # What a person chose since then stays.
        assert parsed.wait_for_dag("a", description="new")["is_paused"] is not paused


def test_a_changed_schedule_plans_the_next_run_from_the_newest_one(live: Parsed) -> None:
    live.write("a.py", dag_text("a", "schedule='0 6 * * *', start_date=datetime(2025, 1, 1)"))
    live.wait_for_dag("a")
    done = datetime(2099, 3, 1, 6, tzinfo=UTC)
    with live.database.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE dag SET last_interval_start = %(at)s, last_interval_end = %(at)s, at_run_limit = true", {"at": done}
        )
    live.write("a.py", dag_text("a", "schedule='30 7 * * *', start_date=datetime(2025, 1, 1)"))
    row = live.wait_for_dag("a", next_run_at=datetime(2099, 3, 1, 7, 30, tzinfo=UTC))
    assert row["next_logical_date"] == row["next_run_at"]
    assert not row["at_run_limit"]
    live.write("a.py", dag_text("a"))
    live.wait_for_dag("a", next_run_at=None)


def test_a_field_that_never_stands_still_makes_one_version_and_a_warning(live: Parsed) -> None:
    """Cases B11 and G3."""
    live.write("a.py", dag_text("a", "start_date=datetime.now()"))
    live.wait_for_dag("a")
    for number in range(5):
        before = live.parsed_at("a.py")
        live.write("a.py", dag_text("a", "start_date=datetime.now()", extra=f"# {number}"))
        live.wait_for_parse("a.py", before)
    assert len(live.versions("a")) == 1
    message = live.warnings("a")["unstable field"]
    assert message.startswith("a.py, line 5: start_date came out differently")
    live.write("a.py", dag_text("a", "start_date=datetime(2025, 1, 1)"))
    wait_until(lambda: live.warnings("a") == {})
    assert len(live.versions("a")) == 2


def test_an_unknown_executor_is_a_warning_with_the_nearest_name_and_keeps_nothing_from_running(live: Parsed) -> None:
    live.write("a.py", dag_text("a", "start_date=datetime(2025, 1, 1), default_args={'executor': 'locla'}"))
    live.wait_for_dag("a")
    wait_until(lambda: live.warnings("a") != {})
    message = live.warnings("a")["unknown executor"]
    assert message.startswith("a.py, line ")
    assert "names the executor 'locla', and this installation has local; did you mean 'local'? Its attempts" in message
    live.write("a.py", dag_text("a", "start_date=datetime(2025, 1, 1), default_args={'executor': 'local'}"))
    wait_until(lambda: live.warnings("a") == {})


def test_a_start_parses_only_what_differs_and_forgets_what_is_gone(parsed: Parsed) -> None:
    for name in ("same", "edited", "gone", "touched"):
        parsed.write(f"{name}.py", dag_text(name))
    with running(parsed):
        for name in ("same", "edited", "gone", "touched"):
            parsed.wait_for_dag(name)
    before = {name: parsed.parsed_at(f"{name}.py") for name in ("same", "touched")}
    parsed.write("edited.py", dag_text("edited", "description='new'"))
    (parsed.folder / "gone.py").unlink()
    os.utime(parsed.folder / "touched.py", ns=(5, 5))
    with running(parsed):
        parsed.wait_for_dag("edited", description="new")
        parsed.wait_for_dag("gone", is_active=False)
        wait_until(lambda: parsed.select("SELECT 1 FROM dag_file WHERE file = 'touched.py' AND mtime_ns = 5"))
    assert {name: parsed.parsed_at(f"{name}.py") for name in before} == before


def test_a_folder_that_vanishes_takes_no_dag_with_it(parsed: Parsed) -> None:
    parsed.write("a.py", dag_text("a"))
    with running(parsed):
        parsed.wait_for_dag("a")
    parsed.folder.rename(parsed.folder.with_name("elsewhere"))
    with running(parsed):
        (parsed.folder.with_name("elsewhere") / "b.py").write_text(dag_text("b"))
        parsed.folder.with_name("elsewhere").rename(parsed.folder)
        parsed.wait_for_dag("b")
    assert parsed.wait_for_dag("a")["is_active"]


def test_what_the_ignore_file_names_is_gone_and_comes_back(live: Parsed) -> None:
    live.write("a.py", dag_text("a"))
    live.wait_for_dag("a")
    live.write(".treadleignore", "a.py\n")
    live.wait_for_dag("a", is_active=False)
    (live.folder / ".treadleignore").unlink()
    live.wait_for_dag("a", is_active=True)


def test_two_processors_on_one_folder_agree(parsed: Parsed) -> None:
    for number in range(20):
        parsed.write(f"f{number}.py", dag_text(f"d{number}"))
    with running(parsed), running(parsed):
        for number in range(20):
            parsed.wait_for_dag(f"d{number}")
        parsed.write("f0.py", dag_text("d0", "description='new'"))
        parsed.wait_for_dag("d0", description="new")
    assert len(parsed.versions("d0")) == 2
    assert parsed.select("SELECT count(*) AS n FROM dag_version")[0]["n"] == 21
