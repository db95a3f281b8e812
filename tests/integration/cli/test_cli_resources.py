"""``pools``, ``variables``, ``connections`` and ``users``, from the command to the database and back."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from tests.support.command_line import CommandLine

from treadle_metadata import accounts
from treadle_metadata.connection import Database
from treadle_metadata.statements import rows

CANARY = "canary-4711"


def audited(database: Database) -> list[tuple[str, str]]:
    with database.begin() as connection:
        return [
            (row["event"], json.dumps(row["detail"])) for row in rows(connection, "SELECT * FROM audit_log ORDER BY id")
        ]


def test_a_pool_is_set_listed_changed_and_deleted(line: CommandLine) -> None:
    line.ok("pools", "set", "database", "4", "Connections to the warehouse")
    pool = line.json("pools", "get", "database")
    assert (pool["slots"], pool["open"], pool["description"]) == (4, 4, "Connections to the warehouse")
    line.ok("pools", "set", "database", "--no-limit")
    assert line.json("pools", "get", "database")["open"] is None
    assert [one["name"] for one in line.json("pools", "list")] == ["database", "default_pool"]
    line.ok("pools", "delete", "database")
    assert "pool 'database' was not found" in line.fails("pools", "get", "database")


def test_the_default_pool_stays(line: CommandLine) -> None:
    assert "cannot be deleted" in line.fails("pools", "delete", "default_pool")


def test_a_pool_needs_slots_or_no_limit(line: CommandLine) -> None:
    assert "SLOTS" in line.fails("pools", "set", "x", code=2)
    assert "SLOTS" in line.fails("pools", "set", "x", "3", "--no-limit", code=2)
    assert "-3" in line.fails("pools", "set", "x", "--", "-3", code=2)


def test_pools_go_through_a_file_and_back(line: CommandLine, tmp_path: Path) -> None:
    file = str(tmp_path / "pools.yaml")
    line.ok("pools", "set", "database", "4")
    line.ok("pools", "export", file)
    line.ok("pools", "delete", "database")
    assert "Imported 2 pools." in line.run("pools", "import", file).stderr
    assert line.json("pools", "get", "database")["slots"] == 4


def test_an_import_with_one_bad_pool_changes_nothing(line: CommandLine) -> None:
    content = json.dumps({"good": {"slots": 1}, "bad": {"slots": "many"}})
    assert "'bad'" in line.fails("pools", "import", "-", stdin=content)
    assert "not found" in line.fails("pools", "get", "good")


def test_an_unreadable_import_is_one_clear_line(line: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "pools.json"
    file.write_text("[1]")
    assert "holds a list" in line.fails("pools", "import", str(file))
    file.write_text("{")
    error = line.fails("pools", "import", str(file))
    assert "cannot be read" in error
    assert error.count("\n") == 1


def test_a_variable_is_set_read_and_deleted(line: CommandLine) -> None:
    line.ok("variables", "set", "threshold", "0.9", "--description", "Least share")
    assert line.ok("variables", "get", "threshold") == "0.9\n"
    line.ok("variables", "set", "threshold", "0.8")
    assert line.json("variables", "list") == [{"key": "threshold", "team": None, "description": "Least share"}]
    assert line.json("variables", "list", "--show-values")[0]["value"] == "0.8"
    line.ok("variables", "delete", "threshold")
    assert "variable 'threshold' was not found" in line.fails("variables", "get", "threshold")
    assert line.ok("variables", "get", "threshold", "--default", "1") == "1\n"
    assert "was not found" in line.fails("variables", "delete", "threshold")


def test_a_secret_variable_leaves_no_trace_but_its_ciphertext(line: CommandLine, database: Database) -> None:
    line.ok("variables", "set", "token", "-", stdin=f"{CANARY}\n")
    assert line.ok("variables", "get", "token") == f"{CANARY}\n"
    assert CANARY not in line.ok("variables", "list", "-o", "json")
    with database.begin() as connection:
        assert CANARY not in rows(connection, "SELECT value FROM variable")[0]["value"]
    assert audited(database) == [("set_variable", '{"name": "token", "after": {"value": "***", "description": null}}')]


def test_json_variables_are_checked_and_printed_indented(line: CommandLine) -> None:
    assert "is not JSON" in line.fails("variables", "set", "limits", "{", "--json")
    line.ok("variables", "set", "limits", '{"a":1}', "--json")
    assert line.ok("variables", "get", "limits", "--json") == '{\n  "a": 1\n}\n'


def test_variables_go_through_a_private_file_and_back(line: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "variables.json"
    line.ok("variables", "set", "a", "1")
    line.ok("variables", "set", "b", "zwei", "--description", "number two")
    line.ok("variables", "export", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    line.ok("variables", "delete", "b")
    line.ok("variables", "import", str(file))
    assert line.ok("variables", "get", "b") == "zwei\n"


def test_without_a_fernet_key_variables_say_what_is_missing(line: CommandLine) -> None:
    without = CommandLine({**line.environment, "TREADLE_FERNET_KEY": ""})
    assert "treadle config new-key" in without.fails("variables", "set", "a", "1")


def test_a_connection_is_made_and_changed_field_by_field(line: CommandLine) -> None:
    line.ok("connections", "set", "dw", "--uri", f"postgres://loader:{CANARY}@db.example.com:5432/dw?sslmode=require")
    line.ok("connections", "set", "dw", "--port", "5433")
    found = line.json("connections", "get", "dw")
    assert (found["host"], found["port"], found["schema"], found["login"]) == ("db.example.com", 5433, "dw", "loader")
    assert (found["has_password"], found["has_extra"]) == (True, True)


def test_a_new_connection_needs_a_type(line: CommandLine) -> None:
    assert "conn_type" in line.fails("connections", "set", "dw", "--host", "x")
    assert "nothing to set" in line.fails("connections", "set", "dw", code=2)


def test_secrets_of_connections_are_shown_nowhere(line: CommandLine, database: Database, tmp_path: Path) -> None:
    extra = json.dumps({"api_key": CANARY})
    line.ok("connections", "set", "dw", "--type", "http", "--extra", extra, "--password-stdin", stdin=f"{CANARY}\n")
    shown = [line.ok("connections", *words, "-o", "json") for words in (("list",), ("get", "dw"))]
    file = tmp_path / "connections.json"
    line.ok("connections", "export", str(file))
    assert CANARY not in "".join(shown) + file.read_text() + str(audited(database))
    with database.begin() as connection:
        assert CANARY not in str(rows(connection, "SELECT * FROM connection"))


def test_connections_go_through_a_private_file_and_back_with_their_secrets(line: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "connections.yaml"
    line.ok("connections", "set", "dw", "--type", "http", "--password", CANARY)
    line.ok("connections", "export", str(file), "--with-secrets")
    assert CANARY in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    line.ok("connections", "delete", "dw")
    line.ok("connections", "import", str(file))
    assert line.json("connections", "get", "dw")["has_password"] is True


def test_a_bad_json_connection_does_not_quote_what_may_be_secret(line: CommandLine) -> None:
    assert CANARY not in line.fails("connections", "set", "dw", "--json", f'{{"password": "{CANARY}"')


def test_an_account_is_made_changed_and_deleted(line: CommandLine, database: Database) -> None:
    line.ok("users", "create", "ada", "--role", "user", "--password-stdin", stdin="correct horse\n")
    with database.begin() as connection:
        assert accounts.verify(connection, "ada", "correct horse") is not None
    line.ok("users", "reset-password", "ada", "--password-stdin", stdin="battery staple\n")
    line.ok("users", "set-role", "ada", "Op")
    with database.begin() as connection:
        assert accounts.verify(connection, "ada", "correct horse") is None
        assert accounts.verify(connection, "ada", "battery staple") is not None
    assert [(one["username"], one["role"]) for one in line.json("users", "list")] == [("ada", "Op")]
    line.ok("users", "delete", "ada", "--yes")
    assert line.json("users", "list") == []
    assert "battery" not in str(audited(database))


def test_a_deactivated_account_cannot_log_in_until_it_is_activated(line: CommandLine, database: Database) -> None:
    line.ok("users", "create", "ada", "--password-stdin", stdin="correct horse\n")
    for act, is_active in (("deactivate", False), ("activate", True)):
        line.ok("users", act, "ada")
        assert [one["is_active"] for one in line.json("users", "list")] == [is_active]
        with database.begin() as connection:
            assert (accounts.verify(connection, "ada", "correct horse") is not None) is is_active
    assert {"activate_user", "deactivate_user"} <= {event for event, _ in audited(database)}
    assert "grace" in line.fails("users", "deactivate", "grace")


def test_a_password_is_never_asked_for_without_a_terminal(line: CommandLine) -> None:
    assert "--password-stdin" in line.fails("users", "create", "ada", code=2)
    assert "expected 8 to" in line.fails("users", "create", "ada", "--password-stdin", stdin="short\n")


def test_deleting_an_account_needs_a_yes(line: CommandLine) -> None:
    assert "--yes" in line.fails("users", "delete", "ada", code=2)
