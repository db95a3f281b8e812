"""The live stream: what changes is told at once, set by set, to whoever may see it, and can be read on from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.served import served
from tests.support.web import Client

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.pausing import set_paused
from treadle_metadata.statements import execute, tuples
from treadle_webserver.live.changes import CHANNEL


class Stream:
    """Reads server-sent events one by one."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()
        self.last_id = ""

    def next(self) -> tuple[str, Any]:
        """Return the next event's name and data."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if not line and "event" in fields:
                self.last_id = fields.get("id", self.last_id)
                return fields["event"], json.loads(fields["data"])
            name, _, value = line.partition(": ")
            fields[name] = value
        return "end", None

    def change(self) -> dict[str, Any]:
        """Return the next change."""
        event, data = self.next()
        assert event == "change", (event, data)
        return dict(data)


@contextmanager
def stream(url: str, client: Client, hub: Any, **headers: str) -> Iterator[Stream]:
    """Open the stream, and wait until it hears."""
    sent = {"Authorization": f"Bearer {client.token}", **headers}
    with httpx.stream("GET", f"{url}/ui/events", headers=sent, timeout=10) as answer:
        assert answer.status_code == 200, answer.read()
        opened = Stream(answer)
        assert opened.next()[0] == "hello"
        assert hub.wait_until_it_hears(10)
        if not headers and opened_anew(hub):
            assert opened.next()[0] == "resync"
        yield opened


def opened_anew(hub: Any) -> bool:
    """Tell whether this is the first stream of the process, which is told to look once it hears."""
    first = not getattr(hub, "was_opened", False)
    hub.was_opened = True
    return first


@pytest.fixture
def url(app: FastAPI) -> Iterator[str]:
    """The address of the served application."""
    with served(app) as address:
        yield address


def test_a_change_of_state_is_told_with_the_run_and_its_new_state(
    url: str, app: FastAPI, admin: Client, sales: str, scheduler: TestScheduler
) -> None:
    with stream(url, admin, app.state.live) as opened:
        scheduler.trigger("sales", run_id="two")
        told = opened.change()
        assert told["runs"] == [{"dag_id": "sales", "run_id": "two", "state": "queued", "tasks": False}]
        scheduler.beats()
        # How many changes one message tells of depends on the pace; a stream that stays silent fails by its time-out.
        while not any(run["tasks"] for run in opened.change()["runs"] if run["run_id"] == "two"):
            pass


def test_a_stream_reads_on_from_the_last_event_and_is_told_when_it_cannot(
    url: str, app: FastAPI, admin: Client, sales: str, database: Database, clock: ManualClock
) -> None:
    with stream(url, admin, app.state.live) as opened:
        _pause(database, clock, "sales")
        assert opened.change()["dags"] == ["sales"]
        with stream(url, admin, app.state.live) as beside:
            _pause(database, clock, "reports")
            assert opened.change()["dags"] == beside.change()["dags"] == ["reports"]
        first = f"{opened.last_id.rpartition('-')[0]}-{int(opened.last_id.rpartition('-')[2]) - 1}"
        with stream(url, admin, app.state.live, **{"Last-Event-ID": first}) as again:
            assert again.change()["dags"] == ["reports"]
        with stream(url, admin, app.state.live, **{"Last-Event-ID": "elsewhere-7"}) as lost:
            assert lost.next()[0] == "resync"


def _pause(database: Database, clock: ManualClock, dag_id: str) -> None:
    with database.begin() as connection:
        set_paused(connection, [dag_id], True, now=clock.now())


def test_the_end_of_a_session_ends_its_stream(
    url: str, app: FastAPI, admin: Client, sales: str, database: Database
) -> None:
    with stream(url, admin, app.state.live) as opened:
        with database.begin() as connection:
            execute(connection, "DELETE FROM login_session")
        assert opened.next() == ("end", None)


def test_without_a_session_there_is_no_stream(url: str) -> None:
    assert httpx.get(f"{url}/ui/events").status_code == 401


def test_who_may_see_one_dag_hears_of_that_one_only(
    url: str, app: FastAPI, admin: Client, sales: str, database: Database, clock: ManualClock
) -> None:
    with database.begin() as connection:
        execute(connection, "UPDATE account SET role = 'Member'")
        execute(
            connection,
            """
            INSERT INTO dag_grant (dag_id, username, permissions, created_at)
            VALUES ('sales', 'admin', '{"read DAGs"}', %(now)s)
            """,
            {"now": clock.now()},
        )
    with stream(url, admin, app.state.live) as opened:
        _pause(database, clock, "reports")
        with database.begin() as connection:
            set_paused(connection, ["reports", "sales"], True, now=clock.now())
        told = opened.change()
        assert told == {"runs": [], "dags": ["sales"], "kinds": []}
        assert [dag["dag_id"] for dag in admin.json("/ui/dags")["dags"]] == ["sales"]
        assert admin.json("/ui/dags/counts")["all"] == 1
        assert admin.get("/ui/dags/reports/grid").status_code == 404


@contextmanager
def heard(database: Database) -> Iterator[list[str]]:
    """Collect the payloads that are told meanwhile."""
    payloads: list[str] = []
    connection = database.listen([CHANNEL])
    yield payloads
    payloads += [one.payload for one in connection.notifies(timeout=0.2)]
    connection.close()


def test_one_statement_tells_one_thing_however_many_rows_it_moves(database: Database, scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("many", *(TaskDocument(task_id=f"t{n}") for n in range(50))))
    with database.begin() as connection:
        ids = _runs(connection, "many", 3)
        _instances(connection)
    with heard(database) as payloads, database.begin() as connection:
        execute(connection, "UPDATE task_instance SET state = 'scheduled'")
    assert len(payloads) == 1
    assert payloads[0].startswith("task ")
    assert sorted(map(int, payloads[0].removeprefix("task ").split(","))) == ids


def test_what_moves_no_state_tells_nothing(database: Database, scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("quiet", TaskDocument(task_id="t0")))
    with database.begin() as connection:
        _runs(connection, "quiet", 1)
        _instances(connection)
    with heard(database) as payloads, database.begin() as connection:
        execute(connection, "UPDATE task_instance SET lease_until = now(), waiting_for = 'x'")
        execute(connection, "UPDATE dag_run SET evaluated_by = 'me'")
        execute(connection, "UPDATE dag SET held_since = now()")
        execute(connection, "UPDATE task_instance SET state = 'scheduled' WHERE id < 0")
    assert payloads == []


def test_too_many_runs_to_name_are_told_by_their_dag(database: Database, scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("crowd", TaskDocument(task_id="t0")))
    with heard(database) as payloads, database.begin() as connection:
        _runs(connection, "crowd", 3000)
    assert payloads == ["dag crowd"]


def _runs(connection: Any, dag_id: str, number: int) -> list[int]:
    made = tuples(
        connection,
        """
        INSERT INTO dag_run (dag_id, run_id, version_id, month, run_type, state, run_after, queued_at, triggered_by)
        SELECT dag_id, 'r' || n, version_id, '2026-01-01', 'manual', 'queued', now(), now(), 'cli'
        FROM dag, generate_series(1, %(number)s) AS n WHERE dag_id = %(dag_id)s RETURNING id
        """,
        {"dag_id": dag_id, "number": number},
    )
    return sorted(row[0] for row in made)


def _instances(connection: Any) -> None:
    execute(
        connection,
        """
        INSERT INTO task_instance (month, dag_run_id, dag_id, task_id, operator, pool, pool_slots, queue,
                                   priority_weight)
        SELECT month, id, dag_id, 't' || n, 'x', 'default_pool', 1, 'default', 1
        FROM dag_run, generate_series(0, 9) AS n
        """,
    )
