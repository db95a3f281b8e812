"""``roles``, ``teams``, ``tokens`` and ``audit``, from the command to the database and back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.command_line import CommandLine

from treadle_metadata import accounts
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.rights.credentials import find_proof, open_session
from treadle_metadata.rights.permissions import Permission


@pytest.fixture
def ann(database: Database) -> str:
    """An account."""
    with database.begin() as connection:
        accounts.create_account(connection, "ann", None, "Viewer", now=SystemClock().now())
    return "ann"


def test_roles_teams_and_grants_are_made_shown_and_recorded(line: CommandLine, ann: str) -> None:
    line.ok("roles", "set", "Runner", "read-dags", "trigger-runs", "--description", "Runs DAGs")
    line.ok("roles", "set", "Runner", "read")
    assert (
        "read connections" in next(one for one in line.json("roles", "list") if one["name"] == "Runner")["permissions"]
    )
    assert {"name": "read DAGs", "of": "a DAG"} in line.json("roles", "permissions")
    line.ok("teams", "create", "data", "data", "--description", "Numbers")
    line.ok("teams", "set-folders", "data", "data", "reports/data")
    line.ok("teams", "add", "data", ann, "--role", "runner")
    (team,) = line.json("teams", "list")
    assert (team["folders"], team["members"]) == (["data", "reports/data"], ["ann (Runner)"])
    granted = line.run("roles", "grant", "sales", "read-logs", "--team", "data")
    assert granted.exit_code == 0
    assert "Warning: DAG 'sales' was not found. The grant holds once there is such a DAG." in granted.stderr
    assert [(one["team"], one["permissions"]) for one in line.json("roles", "grants", "sales")] == [
        ("data", ["read DAGs", "read logs"])
    ]
    line.ok("roles", "grant", "sales", "--team", "data")
    assert line.json("roles", "grants") == []
    line.ok("variables", "set", "key", "value", "--team-name", "data")
    line.ok("pools", "set", "wide", "3", "--team-name", "data")
    line.ok("connections", "set", "db", "--type", "http", "--team-name", "data")
    assert "still has pool 'wide'" in line.fails("teams", "delete", "data", "--yes")
    for command, name in (("variables", "key"), ("connections", "db")):
        line.ok(command, "delete", name, "--team-name", "data")
    line.ok("pools", "delete", "wide")
    line.ok("teams", "remove", "data", ann)
    line.ok("teams", "delete", "data", "--yes")
    line.ok("roles", "delete", "Runner")
    log = line.json("audit", "list")
    assert len({one["event"] for one in log}) == 14
    assert all(one["actor"].startswith("cli:") for one in log)
    (changed,) = [one["detail"] for one in log if one["event"] == "patch_team"]
    assert (changed["before"], changed["after"]) == ({"folders": ["data"]}, {"folders": ["data", "reports/data"]})
    assert [one["event"] for one in line.json("audit", "list", "--event", "set_team_member", "-n", "1")] == [
        "set_team_member"
    ]


def test_sessions_of_an_account_are_ended(line: CommandLine, ann: str, database: Database) -> None:
    now = SystemClock().now()
    with database.begin() as connection:
        secrets = [open_session(connection, ann, lifetime=timedelta(days=1), now=now) for _ in range(2)]
    assert "Ended 2 sessions of account ann." in line.run("users", "end-sessions", ann).stderr
    with database.begin() as connection:
        assert [find_proof(connection, secret, now=now) for secret in secrets] == [None, None]
    assert "did you mean 'ann'" in line.fails("users", "end-sessions", "anne")


def test_a_token_is_printed_once(line: CommandLine, ann: str, database: Database) -> None:
    secret = line.ok("tokens", "create", ann, "ci", "--scope", "read-dags", "--days", "3").strip()
    with database.begin() as connection:
        proof = find_proof(connection, secret, now=SystemClock().now())
    assert proof is not None
    assert (proof.username, proof.rights.limit) == (ann, frozenset({Permission.READ_DAGS}))
    (stored,) = line.json("tokens", "list", ann)
    assert secret not in str(stored)
    line.ok("tokens", "delete", stored["id"])
    assert line.json("tokens", "list") == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("roles", "set", "Runner", "read-dag"), "did you mean 'read-dags'"),
        (("roles", "set", "Admin", "read-dags"), "is built in"),
        (("teams", "add", "nobody", "ann"), "team 'nobody' was not found"),
        (("teams", "create", "up", "../up"), "within the dags folder"),
        (("roles", "grant", "sales", "read-dags"), "either an account or a team"),
        (("tokens", "create", "anne", "ci"), "did you mean 'ann'"),
        (("variables", "set", "key", "value", "--team-name", "nobody"), "team 'nobody' was not found"),
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(
    line: CommandLine, ann: str, command: tuple[str, ...], message: str
) -> None:
    assert message in line.fails(*command)


def test_the_last_account_that_manages_accounts_stays(line: CommandLine) -> None:
    line.ok("users", "create", "root", "--role", "admin", "--password-stdin", stdin="long enough\n")
    assert "nobody could manage" in line.fails("users", "deactivate", "root")
    assert "nobody could manage" in line.fails("users", "set-role", "root", "Op")
