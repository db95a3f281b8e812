"""What an attempt reaches is its team's, or everybody's; never another team's (cases F18, H7)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.execution_api.conftest import Worker
from tests.support.scheduling import a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.resources import create_connection, create_variable, find_variable
from treadle_metadata.rights.teams import create_team
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows


@pytest.fixture
def crypto(database: Database, settings: Settings, clock: ManualClock) -> Crypto:
    """What secrets are encrypted with; two teams and everybody have things of the same names."""
    crypto = Crypto.of_setting(settings.fernet_key)
    with database.begin() as connection:
        for team in ("red", "blue"):
            create_team(connection, team, now=clock.now())
        for team in ("red", "blue", ""):
            name = team or "everybody"
            create_variable(connection, "same", f"of {name}", crypto=crypto, team=team)
            create_variable(connection, f"only_{name}", f"of {name}", crypto=crypto, team=team)
            for conn_id in ("same", f"only_{name}"):
                create_connection(connection, conn_id, {"conn_type": "http", "host": name}, crypto=crypto, team=team)
    return crypto


def ask(worker: Worker, token: str, op: str, **args: Any) -> Any:
    """Return what an attempt is answered."""
    body = {"op": op, "args": args}
    answer = worker.client.post("/execution/v1/questions", json=body, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


@pytest.mark.parametrize(("team", "own"), [("red", "red"), (None, "everybody")])
def test_a_team_finds_its_own_before_everybodys_and_never_anothers(
    worker: Worker, crypto: Crypto, database: Database, team: str | None, own: str
) -> None:
    with database.begin() as connection:
        execute(connection, "UPDATE dag SET team = %(team)s", {"team": team})
    _, token = worker.start("a")
    assert ask(worker, token, "get_variable", key="same") == f"of {own}"
    assert ask(worker, token, "get_variable", key="only_everybody") == "of everybody"
    assert ask(worker, token, "get_variable", key="only_blue") is None
    assert ask(worker, token, "get_connection", conn_id="same")["host"] == own
    assert ask(worker, token, "get_connection", conn_id="only_blue") is None
    assert (ask(worker, token, "get_connection", conn_id="only_red") is None) == (team is None)


def test_what_a_task_sets_and_deletes_is_its_teams_and_is_recorded(
    worker: Worker, crypto: Crypto, database: Database
) -> None:
    with database.begin() as connection:
        execute(connection, "UPDATE dag SET team = 'red'")
    _, token = worker.start("a")
    ask(worker, token, "set_variable", key="only_everybody", value="mine", description=None)
    assert ask(worker, token, "delete_variable", key="only_blue") is False
    assert ask(worker, token, "delete_variable", key="same") is True
    with database.begin() as connection:
        found = {
            (key, team): find_variable(connection, key, crypto=crypto, team=team)
            for key, team in (("only_everybody", ""), ("only_everybody", "red"), ("only_blue", "blue"), ("same", "red"))
        }
        log = rows(connection, "SELECT actor, event, dag_id, detail FROM audit_log ORDER BY id")
    assert found == {
        ("only_everybody", ""): "of everybody",
        ("only_everybody", "red"): "mine",
        ("only_blue", "blue"): "of blue",
        ("same", "red"): "of everybody",
    }
    assert [(one["actor"], one["event"], one["dag_id"], one["detail"]["name"]) for one in log] == [
        ("task:a", "set_variable", "d", "only_everybody"),
        ("task:a", "delete_variable", "d", "only_blue"),
        ("task:a", "delete_variable", "d", "same"),
    ]


def test_another_teams_xcoms_are_not_there(worker: Worker, database: Database) -> None:
    worker.scheduler.install(a_dag("other", TaskDocument("a")))
    worker.scheduler.trigger("other", run_id="r")
    with database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, operator, pool, pool_slots, queue,
                                       priority_weight)
            SELECT month, id, dag_id, 'a', 'x', 'default_pool', 1, 'default', 1 FROM dag_run WHERE dag_id = 'other'
            """,
        )
        execute(
            connection,
            """
            INSERT INTO xcom (task_instance_id, key, month, value, created_at)
            SELECT id, 'return_value', month, '"secret"', now() FROM task_instance WHERE dag_id = 'other'
            """,
        )
    _, token = worker.start("a")
    item = {"dag_id": "other", "run_id": "r", "task_id": "a", "key": "return_value"}
    for mine, theirs, expected in (
        (None, None, True),
        ("red", "red", True),
        ("red", None, True),
        ("red", "blue", False),
        (None, "blue", False),
    ):
        with database.begin() as connection:
            execute(connection, "UPDATE dag SET team = %(team)s WHERE dag_id = 'd'", {"team": mine})
            execute(connection, "UPDATE dag SET team = %(team)s WHERE dag_id = 'other'", {"team": theirs})
        assert ("secret" in str(ask(worker, token, "get_xcoms", items=[item]))) == expected, (mine, theirs)
