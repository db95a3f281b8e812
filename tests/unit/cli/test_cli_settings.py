"""``treadle config`` and the errors of commands that find no database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine

CANARY = "canary-4711"


@pytest.fixture
def line(home: Path) -> CommandLine:
    return CommandLine({"TREADLE_HOME": str(home)})


def test_each_setting_names_its_source(home: Path) -> None:
    (home / "treadle.toml").write_text("parallelism = 7\n")
    line = CommandLine({"TREADLE_HOME": str(home), "TREADLE_PORT": "9000"})
    found = {row["name"]: row for row in line.json("config", "list")}
    assert (found["parallelism"]["value"], found["parallelism"]["source"]) == (7, "treadle.toml")
    assert (found["port"]["value"], found["port"]["source"]) == (9000, "environment")
    assert found["executor"]["source"] == "default"


def test_changed_lists_only_what_was_set(home: Path) -> None:
    line = CommandLine({"TREADLE_HOME": str(home), "TREADLE_PORT": "9000"})
    assert {row["name"] for row in line.json("config", "list", "--changed")} == {"home", "port"}


def test_secrets_are_never_shown(home: Path) -> None:
    (home / "secrets.toml").write_text(f'fernet_key = "{CANARY}"\njwt_secret = "{CANARY}"\n')
    line = CommandLine({"TREADLE_HOME": str(home), "TREADLE_DATABASE_URL": f"postgresql://u:{CANARY}@127.0.0.1:1/x"})
    for output in ("table", "json", "yaml", "plain"):
        assert CANARY not in line.ok("config", "list", "-o", output)
        assert CANARY not in line.ok("info", "-o", output)
    assert line.ok("config", "get", "fernet_key") == "***\n"
    assert CANARY not in line.fails("dags", "list")


def test_get_prints_the_value_alone(line: CommandLine) -> None:
    assert line.ok("config", "get", "parallelism") == "32\n"


def test_get_of_an_unknown_setting_is_wrong_usage(line: CommandLine) -> None:
    assert "did you mean 'parallelism'?" in line.fails("config", "get", "paralelism", code=2)


def test_a_broken_settings_file_is_one_clear_line(home: Path, line: CommandLine) -> None:
    (home / "treadle.toml").write_text("paralelism = 3\n")
    error = line.fails("config", "list")
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
    assert "did you mean 'parallelism'?" in error


def test_a_new_key_can_be_used(line: CommandLine) -> None:
    key = line.ok("config", "new-key").strip()
    environment = {**line.environment, "TREADLE_FERNET_KEY": key}
    assert CommandLine(environment).ok("config", "get", "fernet_key") == "***\n"
    assert len(key) == 44


def test_without_a_database_a_command_says_how_to_get_one(home: Path, line: CommandLine) -> None:
    expected = (
        f"Error: no database is running at {home}: start `treadle standalone`, or set TREADLE_HOME to where it was "
        "started, or TREADLE_DATABASE_URL\n"
    )
    assert line.fails("dags", "list") == expected


def test_an_unreachable_database_is_one_line_with_its_place(line: CommandLine) -> None:
    url = "postgresql://treadle:geheim@127.0.0.1:1/metadata"
    error = CommandLine({**line.environment, "TREADLE_DATABASE_URL": url}).fails("db", "check")
    assert error.startswith("Error: no database is running at 127.0.0.1:1/metadata: start `treadle standalone`")
    assert "geheim" not in error
    assert error.count("\n") == 1


def test_info_tells_the_installation_even_without_a_database(line: CommandLine) -> None:
    record = json.loads(line.ok("info", "-o", "json"))
    assert record["home"] == line.environment["TREADLE_HOME"]
    assert "start `treadle standalone`" in record["database"]


def test_debug_lets_the_error_through(line: CommandLine) -> None:
    result = line.run("--debug", "dags", "list")
    assert type(result.exception).__name__ == "CliError"
