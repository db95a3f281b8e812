"""Every route, walked by every role, over one's own things and over another team's (cases E12, F1, F11, F12, F18, H7).

The walk is made from the table of permissions: a route that joins is walked with the others. What cannot be made up
from the path alone, the body of a route that names things there, stands in ``BODIES``; a route that needs one and has
none fails the walk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import pytest
from fastapi import FastAPI, HTTPException
from starlette.requests import Request
from tests.support.rights import BLUE, NO_FOREIGN_BODY, RED, SHARED, ids_of, member, named, paint, rows_with, share
from tests.support.web import Client, add_instances, client_of, move, session_of

from treadle_metadata import processes
from treadle_metadata.accounts import create_account
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import NotFoundError
from treadle_metadata.rights import credentials, grants, roles
from treadle_metadata.rights.permissions import (
    GIVEN,
    OF_DAGS,
    OF_INSTALLATION,
    OF_TEAMS,
    ROLES,
    WITHOUT_ACCOUNT,
    Permission,
)
from treadle_metadata.rights.scoped_views import OPEN, SCOPED
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, tuples
from treadle_metadata.tables import metadata
from treadle_webserver.app import create_app, routes_of
from treadle_webserver.authorize import authorize
from treadle_webserver.permissions import TABLE
from treadle_webserver.routes import ROUTERS

Route = tuple[str, str]
P = Permission

ROUTES: Final = sorted(routes_of(ROUTERS))
WITH_ACCOUNT: Final = [route for route in ROUTES if TABLE[route] not in WITHOUT_ACCOUNT]
ENDLESS: Final = ("/ui/events", "/wait", "/follow")
"""Streams: only the check before them is walked here."""
ASKED: Final[dict[str, dict[str, Any]]] = {
    "/calendar": {"since": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z"},
    "/timeline": {"since": "2026-01-15T00:00:00Z", "until": "2026-01-16T00:00:00Z"},
    "/code/diff": {"old_version": 1, "new_version": 1},
}
"""Parameters that a route cannot do without, by the end of its path."""


def asked_of(path: str) -> dict[str, Any] | None:
    """Return the parameters that a route cannot do without."""
    return next((one for end, one in ASKED.items() if path.endswith(end)), None)


NOT_THERE: Final = {"{group_id}", "{try_number}/search"}
"""Parts of paths of things that the two teams do not have."""


@dataclass
class World:
    """Two teams, and clients of their members."""

    app: FastAPI
    client: Client
    database: Database
    clock: ManualClock
    ids: dict[str, dict[str, str]]
    patch: pytest.MonkeyPatch
    proofs: dict[str, credentials.Proof | None] = field(default_factory=dict)

    def as_(self, username: str) -> Client:
        """Return the client, logged in as somebody."""
        self.client.token = session_of(self.database, username, self.clock)
        return self.client

    def url(self, path: str, team: str) -> str:
        """Return ``path`` with a team's things in place of its parameters."""
        return re.sub(r"{(\w+)(?::path)?}", lambda found: self.ids[team].get(found[1], "1"), path)

    def without_names(self, text: str, team: str) -> str:
        """Return an answer without the names of a team's things that the request gave."""
        for name in sorted(self.ids[team].values(), key=len, reverse=True):
            text = text.replace(name, "") if len(name) > 3 else text
        return text

    def refusal(self, secret: str, route: Route, dag_id: str | None = None) -> int:
        """Return what the check before a handler answers: 0 when it lets the request through."""
        scope = {
            "type": "http",
            "method": route[0],
            "path": route[1],
            "query_string": b"",
            "headers": [(b"authorization", f"Bearer {secret}".encode())],
            "route": type("Route", (), {"path": route[1]}),
            "path_params": {"dag_id": dag_id} if "{dag_id}" in route[1] and dag_id else {},
            "app": self.app,
            "state": {},
        }
        # Whose secret it is, is another test's question: read once, it makes the walk a cheap one.
        self.patch.setattr("treadle_webserver.authorize.find_proof", lambda *_, now: self._proof(secret, now))
        try:
            authorize(Request(scope), self.app.state.service)
        except HTTPException as error:
            return error.status_code
        except NotFoundError:
            return 404
        finally:
            self.patch.undo()
        return 0

    def _proof(self, secret: str, now: datetime) -> credentials.Proof | None:
        if secret not in self.proofs:
            with self.database.begin() as connection:
                self.proofs[secret] = credentials.find_proof(connection, secret, now=now)
        return self.proofs[secret]

    def forget(self) -> None:
        """Read again what accounts may do."""
        self.proofs.clear()


@pytest.fixture
def world(
    settings: Settings, database: Database, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """Two teams with everything, and an Op of the red one."""
    app = create_app(settings, database, clock=clock)
    with database.begin() as connection:
        for team in (RED, BLUE):
            paint(
                connection,
                team,
                logs=settings.path("logs_folder"),
                crypto=app.state.service.crypto,
                now=clock.now(),
            )
        share(connection, clock.now())
        member(connection, RED, "Op", now=clock.now())
        ids = {team: ids_of(connection, team) for team in (RED, BLUE)}
    ids["grey"] = {name: "999999" if one.isdigit() else one.replace(RED, "grey") for name, one in ids[RED].items()}
    with client_of(app) as client:
        yield World(app, client, database, clock, ids, monkeypatch)


def test_each_role_reaches_the_routes_of_its_permissions_and_no_others(world: World) -> None:
    with world.database.begin() as connection:
        roles.set_role(connection, "Auditor", ["read-dags", "read-audit"], now=world.clock.now())
        for role in (*ROLES, "Auditor"):
            create_account(connection, role.lower(), None, role, now=world.clock.now())
    held = ROLES | {"Auditor": frozenset({P.READ_DAGS, P.READ_AUDIT})}
    for role, allowed in held.items():
        secret = session_of(world.database, role.lower(), world.clock)
        for route in WITH_ACCOUNT:
            expected = 0 if TABLE[route] in allowed | {P.LOGGED_IN} else 403
            assert world.refusal(secret, route, "red_dag") == expected, (role, route)


def test_each_role_in_a_team_reaches_its_dags_and_no_others(world: World) -> None:
    with world.database.begin() as connection:
        for role in ("Viewer", "User"):
            member(connection, RED, role, now=world.clock.now())
    for role in ("Viewer", "User", "Op"):
        secret = session_of(world.database, f"red_{role.lower()}", world.clock)
        for route in WITH_ACCOUNT:
            needed = TABLE[route]
            held = needed in (ROLES[role] - OF_INSTALLATION) | {P.LOGGED_IN}
            assert world.refusal(secret, route, "red_dag") == (0 if held else 403), (role, route)
            if "{dag_id}" in route[1]:
                # To whom nothing of the kind is allowed anywhere, it is forbidden whatever DAG is named.
                foreign = [world.refusal(secret, route, dag_id) for dag_id in ("blue_dag", "grey_dag")]
                assert foreign == ([404, 404] if held else [403, 403]), (role, route)


def test_each_grant_of_a_dag_reaches_that_dag_by_its_permissions_and_no_other(world: World) -> None:
    with world.database.begin() as connection:
        create_account(connection, "guest", None, "Member", now=world.clock.now())
    secret = session_of(world.database, "guest", world.clock)
    routes = [route for route in WITH_ACCOUNT if "{dag_id}" in route[1]]
    for permission in sorted(OF_DAGS):
        with world.database.begin() as connection:
            holder = grants.Holder(username="guest")
            grants.set_grant(connection, "blue_dag", holder, [permission.value], now=world.clock.now())
        world.forget()
        for route in routes:
            held = TABLE[route] in {permission, P.READ_DAGS}
            assert world.refusal(secret, route, "blue_dag") == (0 if held else 403), (permission, route)
        assert world.refusal(secret, ("GET", "/api/v2/dags/{dag_id}"), "red_dag") == 404


def test_each_scope_of_a_token_reaches_its_routes_and_no_others(world: World) -> None:
    with world.database.begin() as connection:
        create_account(connection, "boss", None, "Admin", now=world.clock.now())
        tokens = {
            permission: credentials.create_token(
                connection, "boss", permission.value, [permission.value], now=world.clock.now()
            )[1]
            for permission in sorted(GIVEN)
        }
    for permission, secret in tokens.items():
        for route in WITH_ACCOUNT:
            expected = 0 if TABLE[route] in {permission, P.LOGGED_IN} else 403
            assert world.refusal(secret, route) == expected, (permission, route)


def test_no_answer_tells_a_member_of_another_teams_things(world: World) -> None:
    with world.database.begin() as connection:
        create_account(connection, "boss", None, "Admin", now=world.clock.now())
    client = world.as_("boss")
    for method, path in WITH_ACCOUNT:
        # The member's statements meet connections on which they were prepared for one who sees everything.
        if method == "GET" and not path.endswith(ENDLESS):
            client.get(world.url(path, BLUE), params=asked_of(path))
    client = world.as_("red_op")
    told, wrong = [], []
    for method, path in WITH_ACCOUNT:
        if method != "GET" or path.endswith(ENDLESS):
            continue
        for url in {world.url(path, RED), world.url(path.replace("{dag_id}", "~"), RED)}:
            answer = client.get(url, params=asked_of(path))
            if BLUE in re.sub("flask.blueprints", "", answer.text.lower()):  # a field of Airflow's plug-ins
                told.append((url, answer.text))
            if TABLE[method, path] in OF_INSTALLATION:
                expected = {403}
            elif "~" in url or any(part in path for part in NOT_THERE):
                expected = {200, 404, 422}
            else:
                expected = {200}
            if answer.status_code not in expected:
                wrong.append((url, answer.status_code, answer.text))
    assert told == []
    assert wrong == []


def test_what_is_another_teams_is_answered_as_what_is_not_there(world: World) -> None:
    client = world.as_("red_op")
    for route in WITH_ACCOUNT:
        method, path = route
        if "{" not in path or TABLE[route] not in OF_DAGS | OF_TEAMS or "{address" in path:
            continue
        answers = {}
        for team in (BLUE, "grey"):
            answer = client.request(method, world.url(path, team), json=named(team).get(route))
            answers[team] = (answer.status_code, world.without_names(answer.text, team))
        assert answers[BLUE][0] == 404, (route, answers)
        assert answers["grey"][0] == 404, (route, answers)
        if "{dag_id}" in path:
            assert answers[BLUE] == answers["grey"], route


def test_no_write_of_a_member_changes_anything_of_another_team(world: World) -> None:
    with world.database.begin() as connection:
        before = rows_with(connection, BLUE)
    client = world.as_("red_op")
    bodies = named(BLUE)
    for route in WITH_ACCOUNT:
        method, path = route
        if method == "GET" or TABLE[route] not in OF_DAGS | OF_TEAMS:
            continue
        if "{" not in path:
            assert route in bodies or route in NO_FOREIGN_BODY, f"say in BODIES how {route} names a foreign thing"
        every = path.replace("{dag_id}", "~").replace("{dag_run_id}", "~")
        for url in {world.url(path, BLUE), world.url(every, BLUE)}:
            parameters = {"dag_id_pattern": "~"} if path == "/api/v2/dags" else {}
            answer = client.request(method, url, json=bodies.get(route), params=parameters)
            assert answer.status_code < 500, (url, answer.text)
            assert BLUE not in world.without_names(answer.text, BLUE), (url, answer.text)
    with world.database.begin() as connection:
        after = rows_with(connection, BLUE)
    assert after == before


def test_lists_and_counts_of_a_member_count_what_it_sees(world: World) -> None:
    everything = world.as_("red_op")
    for url, key in (
        ("/api/v2/dags", "dags"),
        ("/api/v2/dags/~/dagRuns", "dag_runs"),
        ("/api/v2/dags/~/dagRuns/~/taskInstances", "task_instances"),
        ("/api/v2/backfills", "backfills"),
        ("/api/v2/importErrors", "import_errors"),
        ("/api/v2/dagWarnings", "dag_warnings"),
        ("/api/v2/dagTags", "tags"),
        ("/api/v2/variables", "variables"),
        ("/api/v2/connections", "connections"),
        ("/api/v2/eventLogs", "event_logs"),
    ):
        answer = everything.json(url)
        assert answer["total_entries"] == len(answer[key]) > 0, url
    assert everything.json("/api/v2/dags")["total_entries"] == 1
    assert everything.json("/api/v2/dags", params={"dag_id_pattern": "blue"})["total_entries"] == 0
    assert everything.json("/api/v2/dags/~/dagRuns", params={"triggering_user_name_pattern": "blue"})["dag_runs"] == []


def test_an_event_of_a_shared_asset_hides_whose_task_told_of_it(world: World) -> None:
    found = world.as_("red_op").json("/api/v2/assets/events", params={"name_pattern": SHARED})["asset_events"]
    assert [one["source_dag_id"] for one in found] == [None]


def test_a_full_pool_is_full_for_everybody_and_holds_nobody_by_name(world: World) -> None:
    with world.database.begin() as connection:
        processes.register(connection, "scheduler", world.clock.now(), 60)
        execute(connection, "UPDATE slot_pool SET slots = 1 WHERE name = 'default_pool'")
        execute(connection, "UPDATE task_instance SET pool = 'default_pool'")
        execute(connection, "UPDATE dag_run SET state = 'running', started_at = queued_at")
        add_instances(connection, "red_dag", "red_run", {"second": 0}, now=world.clock.now())
        move(connection, "task_id = 'second'", "scheduled")
        sql = "UPDATE task_instance SET pool = 'red_pool' WHERE dag_id = 'red_dag' AND task_id = 'red_task'"
        execute(connection, sql)
    client = world.as_("red_op")
    pool = client.json("/api/v2/pools/default_pool")
    assert (pool["occupied_slots"], pool["open_slots"]) == (1, 0)
    why = client.json("/api/v2/dags/red_dag/dagRuns/red_run/taskInstances/second/why")
    assert "default_pool" in str(why), why
    assert BLUE not in str(why)


def test_a_member_may_do_all_of_its_role_with_what_is_its_own(world: World) -> None:
    client = world.as_("red_op")
    dag, run = "/api/v2/dags/red_dag", "/api/v2/dags/red_dag/dagRuns/red_run"
    for method, url, body in (
        ("POST", f"{dag}/dagRuns", {"dag_run_id": "second", "logical_date": None}),
        ("PATCH", run, {"note": "seen"}),
        ("PATCH", f"{run}/taskInstances/red_task", {"new_state": "failed"}),
        ("POST", f"{dag}/clearTaskInstances", {"dry_run": False, "dag_run_id": "red_run", "only_failed": False}),
        ("PATCH", run, {"state": "failed"}),
        ("PATCH", dag, {"is_paused": True}),
        ("PATCH", "/api/v2/dags?dag_id_pattern=~", {"is_paused": False}),
        ("POST", "/api/v2/variables", {"key": "new", "value": "x"}),
        ("PATCH", "/api/v2/variables/new", {"key": "new", "value": "y"}),
        ("DELETE", "/api/v2/variables/new", None),
        ("POST", "/api/v2/connections", {"connection_id": "new", "conn_type": "http", "password": "p"}),
        ("PATCH", "/api/v2/connections/new", {"connection_id": "new", "conn_type": "http", "host": "h"}),
        ("DELETE", "/api/v2/connections/new", None),
        ("POST", "/api/v2/pools", {"name": "new", "slots": 3}),
        ("PATCH", "/api/v2/pools/new", {"slots": 4}),
        ("DELETE", "/api/v2/pools/new", None),
        ("DELETE", f"{dag}/assets/queuedEvents", None),
        ("DELETE", f"{run}?end_first=true", None),
    ):
        with world.database.begin() as connection:
            ((recorded,),) = tuples(connection, "SELECT count(*) FROM audit_log")
        answer = client.request(method, url, json=body)
        assert answer.status_code in (200, 201, 204), (method, url, answer.text)
        with world.database.begin() as connection:
            assert tuples(connection, "SELECT count(*) FROM audit_log")[0][0] > recorded, (method, url)
    with world.database.begin() as connection:
        assert not [row for row in rows_with(connection, "new").get("variable", []) if "new" in row]


def test_teams_may_have_variables_and_connections_of_one_name(world: World) -> None:
    client = world.as_("red_op")
    assert client.json("/api/v2/variables/same")["value"] == "red value of the same"
    created = client.post("/api/v2/variables", json={"key": "blue_variable", "value": "mine"})
    assert created.status_code == 201, created.text
    assert created.json()["team_name"] == RED


def test_every_table_is_shown_to_accounts_by_a_rule() -> None:
    assert set(metadata.tables) == set(SCOPED) | OPEN
    assert not set(SCOPED) & OPEN
