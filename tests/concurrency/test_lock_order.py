"""Whoever changes runs at once takes locks in one order: dag, dag_run by id, task_instance by id, slot_pool (design 4).

A deadlock would be mended by a retry (``test_deadlocks``), and cost a second; here none may happen at all.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from tests.support.deferring import HandTriggerer, deferring
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import ScheduleDocument, TaskDocument
from treadle_metadata import backfills, clearing, connection, deletion, marking
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import MetadataError
from treadle_metadata.selecting import Selection
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_scheduler.waking import Scope
from treadle_worker.protocol import Workload

DAGS = ("a", "b")
DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 7)]
ROUNDS = 5
BEGINNING = "2026-01-01T00:00:00+00:00"
Act = Callable[[random.Random], None]
DAILY = ScheduleDocument(kind="cron", expressions=("0 0 * * *",), style="interval")


@pytest.fixture
def deadlocks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the deadlocks that ``Database.run`` passes over."""
    found: list[str] = []
    real = connection.retry_seconds

    def noting(error: DBAPIError, failures: int) -> float | None:
        if getattr(error.orig, "sqlstate", None) == "40P01":
            found.append(f"{threading.current_thread().name}: {error}")
        return real(error, failures)

    monkeypatch.setattr(connection, "retry_seconds", noting)
    return found


class Workers:
    """Takes attempts over and ends them later, those of several runs in one transaction."""

    def __init__(self, *schedulers: TestScheduler) -> None:
        self._scheduler = schedulers[0]
        self._outcome = deferring()
        self._lock = threading.Lock()
        self._held: list[Workload] = []
        for one in schedulers:
            one.executor.queue = self._take  # type: ignore[method-assign]

    def _take(self, workloads: Any) -> None:
        with self._lock:
            self._held += workloads

    def work(self, chance: random.Random) -> None:
        with self._lock:
            batch, self._held = self._held, []
        chance.shuffle(batch)
        self._scheduler.executor.outcome = lambda one: (
            self._outcome(one) if one["task_id"] == "waits" else {"outcome": chance.choice(("success", "failed"))}
        )
        self._scheduler.database.run(lambda connection: self._scheduler.executor._run(connection, batch))


class People:
    """What people do to runs: each act is one transaction over many of them."""

    def __init__(self, scheduler: TestScheduler) -> None:
        self._scheduler = scheduler

    def _do(self, act: Callable[[Any], object]) -> None:
        with self._scheduler.database.begin() as opened:
            act(opened)

    def clear(self, chance: random.Random) -> None:
        for dag_id in DAGS:
            selection = Selection(dag_id=dag_id, task_ids=(chance.choice(("first", "waits")),), include_downstream=True)
            self._do(partial(clearing.clear, selection=selection, now=self._now()))

    def mark(self, chance: random.Random) -> None:
        selection = Selection(dag_id=chance.choice(DAGS), task_ids=("waits", "last"))
        self._do(
            lambda opened: marking.mark_selected(
                opened, selection, chance.choice(("success", "failed")), now=self._now()
            )
        )

    def mark_runs(self, chance: random.Random) -> None:
        for dag_id, run_id in self._runs(chance)[:2]:
            state = chance.choice(("failed", "queued"))
            with suppress(MetadataError):  # it is so already
                self._do(partial(marking.mark_run, dag_id=dag_id, run_id=run_id, state=state, now=self._now()))

    def delete(self, chance: random.Random) -> None:
        for dag_id, run_id in self._runs(chance)[: chance.choice((0, 0, 1))]:
            act = partial(deletion.delete_run, dag_id=dag_id, run_id=run_id, end_first=True, now=self._now())
            self._do(act)

    def fill(self, chance: random.Random) -> None:
        dag_id = chance.choice(DAGS)
        made: list[Any] = []
        self._do(
            lambda opened: made.append(
                backfills.create(opened, dag_id, DAYS[0], DAYS[-1], reprocess_behavior="completed", now=self._now())
            )
        )
        self._do(lambda opened: backfills.cancel(opened, made[0].id, now=self._now()))

    def _runs(self, chance: random.Random) -> list[tuple[str, str]]:
        with self._scheduler.database.begin() as opened:
            found = [(row["dag_id"], row["run_id"]) for row in rows(opened, "SELECT dag_id, run_id FROM dag_run")]
        chance.shuffle(found)
        return found

    def _now(self) -> datetime:
        return self._scheduler.clock.now()


class Daemons:
    """A scheduler's beats, and a triggerer that fires whatever it runs."""

    def __init__(self, scheduler: TestScheduler) -> None:
        self._scheduler = scheduler
        self._triggerer = HandTriggerer(scheduler.database, scheduler.clock)

    def beat(self, _: random.Random) -> None:
        self._scheduler.loop.wake(Scope.EVERYTHING)
        self._scheduler.loop.beat()

    def fire(self, _: random.Random) -> None:
        self._triggerer.beat()
        if self._triggerer.held:
            self._triggerer.fire_all()
            self._triggerer.held.clear()


class Together:
    """Lets several act at the same moments, ``ROUNDS`` times."""

    def __init__(self, *acts: Act) -> None:
        self._acts = acts
        self._round = threading.Barrier(len(acts))
        self.errors: list[str] = []
        self.done = [0] * len(acts)

    def act(self) -> None:
        threads = [threading.Thread(target=self._act, args=pair) for pair in enumerate(self._acts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

    def _act(self, number: int, one: Act) -> None:
        chance = random.Random(number)
        for _ in range(ROUNDS):
            self._round.wait(30)
            try:
                one(chance)
                self.done[number] += 1
            except MetadataError:
                continue  # somebody was first
            except BaseException as error:
                self.errors.append(f"{one.__name__}: {type(error).__name__}: {error}")


def test_whoever_changes_runs_at_once_meets_in_no_deadlock(
    database: Database, settings: Settings, clock: ManualClock, deadlocks: list[str]
) -> None:
    scheduler, other = TestScheduler(database, settings, clock), TestScheduler(database, settings, clock)
    waiting, last = TaskDocument("waits", upstream=("first",)), TaskDocument("last", upstream=("waits",))
    for dag_id in DAGS:
        document = a_dag(dag_id, TaskDocument("first"), waiting, last, schedule=DAILY, start_date=BEGINNING)
        scheduler.install(document, max_active_runs=50)
        for day in DAYS:
            scheduler.trigger(dag_id, logical_date=day)
    people, workers = People(scheduler), Workers(scheduler, other)
    for _ in range(2):  # some tasks wait then, some are under way
        scheduler.beats()
        workers.work(random.Random(0))
    of_people: list[Act] = [people.clear, people.mark, people.mark_runs, people.delete, people.fill]
    daemons = Daemons(scheduler)
    together = Together(*of_people, workers.work, daemons.beat, daemons.fire, Daemons(other).beat)
    together.act()
    assert (deadlocks, together.errors) == ([], [])
    assert all(together.done)
    with database.begin() as opened:
        ended = {row["outcome"] for row in rows(opened, "SELECT DISTINCT outcome FROM task_attempt")}
    assert ended >= {"success", "failed"}


def two_runs(scheduler: TestScheduler, *, instances: str) -> tuple[int, int]:
    """Make a run that is over without instances and one whose task has failed; return their ids in order."""
    scheduler.executor.outcome = lambda _: {"outcome": "failed"}
    scheduler.install(a_dag("d", TaskDocument("t"), schedule=DAILY, start_date=BEGINNING))
    for day in DAYS[:2]:
        scheduler.trigger("d", logical_date=day)
    scheduler.beats()
    with scheduler.database.begin() as opened:
        first, second = (row["id"] for row in rows(opened, "SELECT id FROM dag_run ORDER BY id"))
        execute(opened, instances, {"run": first})
    return first, second


def lock(opened: Connection, run: int) -> None:
    assert rows(opened, "SELECT FROM dag_run WHERE id = %(run)s FOR NO KEY UPDATE", {"run": run})


def waits(database: Database, least: int) -> bool:
    with database.begin() as opened:
        return len(rows(opened, "SELECT FROM pg_locks WHERE NOT granted")) >= least


def test_runs_that_a_clear_finds_late_are_not_locked_behind_the_others(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    first, second = two_runs(
        scheduler, instances="UPDATE task_instance SET state = 'success' WHERE dag_run_id = %(run)s"
    )
    selection = Selection(dag_id="d", only_failed=True)
    done: list[clearing.Plan] = []

    def clear() -> None:
        with database.begin() as opened:
            done.append(clearing.clear(opened, selection, now=clock.now()))

    person = threading.Thread(target=clear)
    with database.begin() as other:
        lock(other, first)
        with database.begin() as opened:
            lock(opened, second)
            person.start()
            wait_until(lambda: waits(database, 1), 20)  # it knows of the second run alone
            execute(opened, "UPDATE task_instance SET state = 'failed' WHERE dag_run_id = %(run)s", {"run": first})
        wait_until(lambda: waits(database, 1), 20)  # it knows of both, and waits for the first
        lock(other, second)
    person.join(20)
    assert [plan.run_ids for plan in done] == [{first, second}]


def test_a_backfill_locks_runs_without_instances_in_their_turn(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    first, second = two_runs(scheduler, instances="DELETE FROM task_instance WHERE dag_run_id = %(run)s")
    made: list[backfills.Backfill] = []

    def fill() -> None:
        with database.begin() as opened:
            made.append(backfills.create(opened, "d", DAYS[0], DAYS[1], reprocess_behavior="failed", now=clock.now()))

    person = threading.Thread(target=fill)
    with database.begin() as other:
        lock(other, first)
        person.start()
        wait_until(lambda: waits(database, 1), 20)
        lock(other, second)
    person.join(20)
    assert [[one.action for one in backfill.planned] for backfill in made] == [["rerun", "rerun"]]
