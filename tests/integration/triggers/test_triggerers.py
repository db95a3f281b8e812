"""Triggerers against the Execution API: what they run, what blocks them, what they leave to others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.support.deferring import CRYPTO, deferral
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.triggering import Site, site, told
from tests.support.waiting import wait_until

from treadle.document import TaskDocument
from treadle_metadata import clearing, marking, processes, trigger_events
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.resources import set_variable
from treadle_metadata.selecting import Selection
from treadle_metadata.settings import Settings
from treadle_triggerer.server import Server, ServerRefused


@pytest.fixture
def here(database: Database, settings: Settings) -> Iterator[Site]:
    with site(database, settings) as one:
        yield one


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def deferred(here: Site, notes: Path, *names: str, hows: Any = None) -> TestScheduler:
    """Return a scheduler whose tasks ``names`` wait for a Noting trigger each."""

    def outcome(workload: Any) -> dict[str, Any]:
        if "resume" in workload:
            return {"outcome": "failed" if workload["resume"]["error"] else "success"}
        name = workload["task_id"]
        kwargs = {"notes": str(notes), "name": name, "how": (hows or {}).get(name, "wait")}
        return deferral(classpath="tests.support.noting.Noting", kwargs=json.dumps(kwargs))

    scheduler = TestScheduler(here.database, here.settings, SystemClock(), outcome)  # type: ignore[arg-type]
    scheduler.install(a_dag("d", *(TaskDocument(name, "Operator") for name in names)))
    scheduler.trigger("d")
    scheduler.beats()
    return scheduler


def ran(notes: Path) -> list[str]:
    return sorted(one["name"] for one in told(notes) if one["what"] == "runs")


def cancelled(notes: Path) -> list[str]:
    return sorted(one["name"] for one in told(notes) if one["what"] == "cancelled")


def states(scheduler: TestScheduler) -> dict[str, str]:
    scheduler.beats()
    return {row["task_id"]: row["state"] for row in scheduler._select("SELECT task_id, state FROM task_instance")}


def test_an_event_reaches_its_task_and_what_the_trigger_logs_its_log(here: Site, notes: Path) -> None:
    scheduler = deferred(here, notes, "a", "b")
    with here.triggerer():
        wait_until(lambda: ran(notes) == ["a", "b"])
        (notes.parent / "go-a").touch()
        wait_until(lambda: states(scheduler) == {"a": "success", "b": "deferred"})
    (row,) = here.select("SELECT log_path FROM task_attempt JOIN task_instance USING (attempt_id) WHERE task_id = 'b'")
    text = (here.settings.path("logs_folder") / row["log_path"]).read_text()
    assert "b waits" in text
    assert cancelled(notes) == []  # a triggerer that stops cancels nothing (case D7, iv)


def test_clearing_and_marking_cancel_the_old_trigger_and_no_other(here: Site, notes: Path) -> None:
    """Case D7, i and ii: the job of the old attempt is cancelled, that of the new one is not."""
    scheduler = deferred(here, notes, "a", "b", "c")
    with here.triggerer():
        wait_until(lambda: ran(notes) == ["a", "b", "c"])
        with here.database.begin() as connection:
            clearing.clear(connection, Selection(dag_id="d", task_ids=("a",)), now=datetime.now(UTC))
        with here.database.begin() as connection:
            marking.mark_selected(connection, Selection(dag_id="d", task_ids=("b",)), "failed", now=datetime.now(UTC))
        wait_until(lambda: cancelled(notes) == ["a", "b"])
        wait_until(lambda: states(scheduler)["a"] == "deferred" and ran(notes) == ["a", "a", "b", "c"])
        wait_until(lambda: len(here.select("SELECT FROM trigger")) == 2)
        (notes.parent / "go-a").touch()
        wait_until(lambda: states(scheduler) == {"a": "success", "b": "failed", "c": "deferred"})
    assert cancelled(notes) == ["a", "b"]


def test_a_trigger_that_blocks_is_named_and_ended_and_the_others_run_on(here: Site, notes: Path) -> None:
    """Case D9, D8: one of them cannot even be made."""
    scheduler = deferred(here, notes, "a", "b", "c", hows={"b": "block", "c": "refuse"})
    with here.triggerer(blocked_seconds=1.5):
        wait_until(lambda: states(scheduler) == {"a": "deferred", "b": "failed", "c": "failed"}, 30)
        wait_until(lambda: len({one["pid"] for one in told(notes) if one["name"] == "a"}) == 2)
        (notes.parent / "go-a").touch()
        wait_until(lambda: states(scheduler)["a"] == "success")
    gone_on: list[Any] = [one for one in scheduler.executor.taken if "resume" in one and one["resume"]["error"]]
    errors = {one["task_id"]: one["resume"]["error"]["error"] for one in gone_on}
    assert "blocked the triggerer's loop" in errors["b"]
    assert "noting.py, line" in errors["b"]
    assert "it cannot be made" in errors["c"]
    assert cancelled(notes) == []


def test_a_trigger_that_ends_the_process_is_singled_out_and_the_others_run_on(here: Site, notes: Path) -> None:
    """Case D8: one by os._exit in the loop, one by a signal out of a thread."""
    scheduler = deferred(here, notes, "a", "b", "c", hows={"b": "exit", "c": "segfault"})
    with here.triggerer():
        wait_until(lambda: states(scheduler) == {"a": "deferred", "b": "failed", "c": "failed"}, 30)
        (notes.parent / "go-a").touch()
        wait_until(lambda: states(scheduler)["a"] == "success")
    gone_on: list[Any] = [one for one in scheduler.executor.taken if "resume" in one and one["resume"]["error"]]
    errors = {one["task_id"]: one["resume"]["error"]["error"] for one in gone_on}
    assert "died 3 times in its code, the last time with exit code 3" in errors["b"]
    assert "died 3 times in its code, the last time by signal SIGSEGV" in errors["c"]
    assert cancelled(notes) == []


def test_a_trigger_whose_task_is_gone_disturbs_nobody(here: Site, notes: Path) -> None:
    """Case D8: its row is deleted under the live trigger."""
    scheduler = deferred(here, notes, "a", "b")
    with here.triggerer():
        wait_until(lambda: ran(notes) == ["a", "b"])
        here.change("DELETE FROM task_instance WHERE task_id = 'a'")
        (notes.parent / "go-a").touch()
        (notes.parent / "go-b").touch()
        wait_until(lambda: not here.select("SELECT FROM trigger"))
        wait_until(lambda: states(scheduler) == {"b": "success"})


def test_triggerers_that_start_together_share_what_there_is(here: Site, notes: Path) -> None:
    """Case D4: each trigger has one owner and runs once."""
    names = [f"t{number}" for number in range(60)]
    deferred(here, notes, *names)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(here.triggerer())
        wait_until(lambda: len(ran(notes)) >= 60, 30)
        owners = here.select("SELECT owner, count(*) FROM trigger GROUP BY owner")
        assert sum(row["count"] for row in owners) == 60
        assert None not in {row["owner"] for row in owners}
        assert ran(notes) == sorted(names)


def test_a_beat_that_compares_does_not_wait_and_what_comes_later_is_not_dropped_for_it(here: Site, notes: Path) -> None:
    server = Server(here.url, here.token)
    told = {"hostname": "h", "pid": 1, "capacity": 10, "held": 0}
    first = server.beat(told)
    answer = server.beat({**told, "process_id": first["process_id"], "checks": True, "wait": 10})
    assert (answer["triggers"], answer["owned"]) == ([], [])
    deferred(here, notes, "a")
    (trigger,) = server.beat({**told, "process_id": first["process_id"], "wait": 10})["triggers"]
    answer = server.beat({**told, "process_id": first["process_id"], "held": 1, "checks": True, "wait": 10})
    assert answer["owned"] == [trigger["id"]]
    server.leave(first["process_id"])
    assert here.select("SELECT owner FROM trigger") == [{"owner": None}]


def test_only_a_triggerers_token_opens_its_routes(here: Site) -> None:
    with pytest.raises(ServerRefused, match="401"):
        Server(here.url, here.token + "x").beat({"hostname": "h", "pid": 1, "capacity": 10})


def test_what_a_trigger_logs_is_written_once_though_a_deadlock_has_its_event_recorded_again(
    here: Site, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deferred(here, notes, "a")
    server = Server(here.url, here.token)
    beat = server.beat({"hostname": "h", "pid": 1, "capacity": 10})
    (trigger,) = beat["triggers"]
    record, failures = trigger_events.record, iter([True])

    def meets_a_deadlock(*args: Any, **named: Any) -> set[int]:
        if next(failures, False):
            args[0].execute(text("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$"))
        return record(*args, **named)

    monkeypatch.setattr(trigger_events, "record", meets_a_deadlock)
    event = {"id": trigger["id"], "kind": "event"}
    lines = {"id": trigger["id"], "text": '{"text":"seen"}\n'}
    told_of = server.record({"process_id": beat["process_id"], "events": [event], "logs": [lines]})
    assert told_of["counted"] == [trigger["id"]]
    (row,) = here.select("SELECT log_path FROM task_attempt")
    assert (here.settings.path("logs_folder") / row["log_path"]).read_text().count("seen") == 1


def test_a_trigger_is_answered_only_through_the_triggerer_that_runs_it(here: Site, notes: Path) -> None:
    deferred(here, notes, "a")
    server = Server(here.url, here.token)
    mine, other = (server.beat({"hostname": "h", "pid": pid, "capacity": 10}) for pid in (1, 2))
    (trigger,) = mine["triggers"]
    question = {"id": trigger["id"], "op": "get_variable", "args": {"key": "k"}}
    assert server.ask({**question, "process_id": mine["process_id"]}) is None
    with pytest.raises(ServerRefused, match="another triggerer"):
        server.ask({**question, "process_id": other["process_id"]})
    here.change("UPDATE trigger SET owner = NULL")
    with pytest.raises(ServerRefused, match="run by no triggerer"):
        server.ask({**question, "process_id": mine["process_id"]})


def test_a_trigger_that_is_gone_is_not_given_what_is_everybodys_in_place_of_its_teams(here: Site, notes: Path) -> None:
    deferred(here, notes, "a")
    server = Server(here.url, here.token)
    mine = server.beat({"hostname": "h", "pid": 1, "capacity": 10})
    (trigger,) = mine["triggers"]
    with here.database.begin() as connection:
        set_variable(connection, "k", "everybody's", crypto=CRYPTO)
    question = {"id": trigger["id"], "op": "get_variable", "args": {"key": "k"}, "process_id": mine["process_id"]}
    assert server.ask(question) == "everybody's"
    here.change("DELETE FROM trigger")
    with pytest.raises(ServerRefused, match="is over"):
        server.ask(question)


def test_a_triggerers_token_moves_no_other_daemons_lease(here: Site) -> None:
    now = datetime.now(UTC)
    with here.database.begin() as connection:
        scheduler = processes.register(connection, "scheduler", now, 30, {})
    server = Server(here.url, here.token)
    answer = server.beat({"process_id": str(scheduler), "hostname": "h", "pid": 1, "capacity": 10})
    assert answer["process_id"] != str(scheduler)
    server.leave(str(scheduler))
    (row,) = here.select("SELECT heartbeat_at, stopped_at, executors FROM process WHERE kind = 'scheduler'")
    assert row == {"heartbeat_at": now, "stopped_at": None, "executors": {}}
