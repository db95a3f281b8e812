"""What the program imports before it knows its command, and how it answers words that are no command."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.support.command_line import CommandLine

HEAVY = {
    "sqlalchemy",
    "psycopg",
    "fastapi",
    "pydantic",
    "rich",
    "yaml",
    "jinja2",
    "jsonschema",
    "croniter",
    "alembic",
    "uvicorn",
}


def _imported(*arguments: str) -> set[str]:
    """Return the top-level modules that a fresh process has imported when the command is done."""
    script = f"""
import json, sys
sys.argv = ["treadle", *{list(arguments)!r}]
from treadle_cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted({{name.split(".")[0] for name in sys.modules}})))
"""
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    return set(json.loads(ran.stdout.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [["--help"], ["version"], ["dags", "--help"], ["tasks", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    assert _imported(*arguments) & HEAVY == set()


def test_the_help_of_the_program_imports_only_click_and_the_command_line() -> None:
    ours = {name for name in _imported("--help") if name.startswith("treadle")}
    assert ours == {"treadle_cli"}


def test_config_needs_no_database_package() -> None:
    assert _imported("config", "list") & HEAVY == set()


def test_version_is_printed_alone() -> None:
    from_command = CommandLine().ok("version")
    assert from_command.strip().count(".") == 2


def test_a_misspelt_command_is_answered_with_the_nearest_one() -> None:
    assert "Did you mean 'dags'?" in CommandLine().fails("dgas", code=2)
    assert "Did you mean 'list-runs'?" in CommandLine().fails("dags", "list-run", code=2)


def test_wrong_usage_ends_with_code_2() -> None:
    assert "Missing argument 'DAG_ID'" in CommandLine().fails("dags", "show", code=2)
    assert "No such option" in CommandLine().fails("dags", "show", "x", "--colour", code=2)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell: str) -> None:
    assert f"_TREADLE_COMPLETE={shell}_complete" in CommandLine().ok("completion", shell)


def test_completion_knows_commands_and_their_options() -> None:
    environment = os.environ | {
        "_TREADLE_COMPLETE": "bash_complete",
        "COMP_WORDS": "treadle dags sh",
        "COMP_CWORD": "2",
    }
    program = "from treadle_cli.main import main; main()"
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert "plain,show" in ran.stdout


def test_the_option_version_says_what_the_command_says() -> None:
    assert CommandLine().ok("--version") == CommandLine().ok("version")


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m treadle_cli config list | head -1"
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("name")
    assert ran.stderr == ""
