"""Whose a DAG is follows from its folder, and what is another team's is not there for it (cases F18, H7)."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.support.parsing import Parsed, dag_text
from tests.support.waiting import wait_until

from treadle_metadata import resources
from treadle_metadata.rights import teams


def test_a_dag_is_its_folders_teams_and_names_no_other_teams_pool(live: Parsed) -> None:
    now = datetime.now(UTC)
    with live.database.begin() as connection:
        teams.create_team(connection, "red", ["red"], now=now)
        teams.create_team(connection, "deep", ["red/deep"], now=now)
        resources.create_pool(connection, "red_pool", 2, team="red")
    pooled = 'task_id="second", pool="red_pool"'
    live.write("red/a.py", dag_text("a").replace('task_id="second"', pooled))
    live.write("red/deep/b.py", dag_text("b"))
    live.write("redder/c.py", dag_text("c").replace('task_id="second"', pooled))
    live.write("d.py", dag_text("d"))
    assert live.wait_for_dag("a")["team"] == "red"
    assert live.wait_for_dag("b")["team"] == "deep"
    assert live.wait_for_dag("d")["team"] is None
    told = live.wait_for_error("redder/c.py", "names the pool 'red_pool', which does not exist")["message"]
    assert "known pools: default_pool)" in told
    with live.database.begin() as connection:
        teams.set_folders(connection, "deep", ["red/deep", "redder"], now=now)
        teams.set_folders(connection, "red", [], now=now)
    assert live.dag("a")["team"] is None  # type: ignore[index]


def test_a_team_does_not_take_over_a_dag_whose_file_is_gone(live: Parsed) -> None:
    now = datetime.now(UTC)
    with live.database.begin() as connection:
        teams.create_team(connection, "red", ["red"], now=now)
        teams.create_team(connection, "blue", ["blue"], now=now)
    path = live.write("red/a.py", dag_text("a"))
    live.wait_for_dag("a")
    path.unlink()
    wait_until(lambda: not live.dag("a")["is_active"])  # type: ignore[index]
    for file in ("blue/a.py", "a.py"):
        live.write(file, dag_text("a"))
        live.wait_for_error(file, "belongs to a DAG of another team")
    assert live.dag("a")["team"] == "red"  # type: ignore[index]
    live.write("red/again.py", dag_text("a"))
    assert live.wait_for_dag("a", file="red/again.py")["team"] == "red"
