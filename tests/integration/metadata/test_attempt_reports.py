"""What becomes of reports of attempts: said twice, handed back, or made for a worker that can report no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.exc import OperationalError
from tests.support.marks import mark_task
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_executors.executor import ExecutorEvent
from treadle_metadata import execution
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.marking import mark_run
from treadle_metadata.queries.why import why_is_task_not_running
from treadle_metadata.settings import Settings
from treadle_scheduler.duties.collect_reports import collect_reports
from treadle_worker.protocol import Workload


class Rig:
    """A scheduler whose one task is handed over and then reported on by hand."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        clock: ManualClock,
        document: Mapping[str, Any] | None = None,
        **task: Any,
    ) -> None:
        self.scheduler = TestScheduler(database, replace(settings, lease_seconds=30), clock)
        self.database, self.clock = database, clock
        self.scheduler.executor.queue = self._take  # type: ignore[method-assign]
        self.handed: list[Workload] = []
        self.scheduler.install(a_dag("one", TaskDocument("task", **task), **(document or {})))
        self.run_id = self.scheduler.trigger("one")
        self.scheduler.beats()

    def _take(self, workloads: Any) -> None:
        self.handed += workloads

    def start(self, *, hostname: str = "here", seconds: float = 0) -> bool:
        """Report the start of the newest attempt; tell whether it may run."""
        now = self.clock.now()
        at = now + timedelta(seconds=seconds)
        report = self._report() | {"hostname": hostname, "started_at": at.isoformat(timespec="microseconds")}
        with self.database.begin() as connection:
            lease = now + timedelta(seconds=30)
            return bool(execution.record_starts(connection, [report], now=now, lease_until=lease)[0]["accepted"])

    def finish(self, outcome: str, **facts: Any) -> set[str]:
        """Report the end of the newest attempt."""
        now = self.clock.now()
        report = self._report() | {"outcome": outcome, "ended_at": now, "xcoms": [], "hostname": "here", **facts}
        with self.database.begin() as connection:
            return execution.record_finishes(connection, [report], now=now)

    def _report(self) -> dict[str, Any]:
        newest = self.handed[-1]
        return {name: newest[name] for name in ("attempt_id", "task_instance_id", "month")}

    def instance(self) -> Mapping[str, Any]:
        """Return the row of the instance."""
        return self.scheduler._select("SELECT * FROM task_instance")[0]

    def attempts(self) -> list[Mapping[str, Any]]:
        """Return the rows of its attempts, oldest first."""
        return self.scheduler._select("SELECT * FROM task_attempt ORDER BY queued_at, attempt_id")


@pytest.fixture
def rig(database: Database, settings: Settings, clock: ManualClock) -> Rig:
    """A task without retries, handed over."""
    return Rig(database, settings, clock)


def test_a_start_that_is_said_again_since_its_answer_was_lost_is_accepted_again(rig: Rig) -> None:
    """Case A77, the response of the claim: the commit was done, and its sender does not know."""
    assert rig.start()
    assert rig.start()
    assert (rig.instance()["state"], rig.instance()["try_number"], len(rig.attempts())) == ("running", 1, 1)


@pytest.mark.parametrize("other", [{"hostname": "there"}, {"seconds": 1.000001}], ids=["another host", "another time"])
def test_the_start_of_a_hand_over_that_came_twice_is_refused(rig: Rig, other: Any) -> None:
    assert rig.start()
    assert not rig.start(**other)


def test_a_start_that_is_said_again_after_the_end_is_refused(rig: Rig) -> None:
    assert rig.start()
    rig.finish("success")
    assert not rig.start()


def test_a_finish_that_is_said_again_changes_nothing(rig: Rig) -> None:
    """Case A77, the response of the completion."""
    rig.start()
    assert rig.finish("success")
    before = [dict(row) for row in rig.attempts()]
    rig.clock.advance(timedelta(seconds=1))
    assert rig.finish("failed") == set()
    assert (rig.instance()["state"], [dict(row) for row in rig.attempts()]) == ("success", before)


def test_an_attempt_that_is_handed_back_is_made_again_as_the_same_try(rig: Rig) -> None:
    rig.start()
    rig.finish("handed_back", xcoms=[{"key": "return_value", "value": "1", "length": None}])
    assert (rig.instance()["state"], rig.instance()["try_number"]) == ("scheduled", 0)
    assert rig.scheduler._select("SELECT FROM xcom") == []
    rig.scheduler.beats()
    assert len(rig.handed) == 2
    rig.start()
    rig.finish("success")
    assert [(one["outcome"], one["try_number"]) for one in rig.attempts()] == [("handed_back", 1), ("success", 1)]
    assert rig.instance()["try_number"] == 1
    rig.scheduler.beats()
    assert rig.scheduler.run_states("one") == {rig.run_id: "success"}


def test_an_attempt_that_is_handed_back_before_its_start_is_made_again_as_the_same_try(rig: Rig) -> None:
    rig.finish("handed_back")
    assert (rig.instance()["state"], rig.instance()["try_number"]) == ("scheduled", 0)


def test_an_attempt_that_was_cleared_and_is_handed_back_starts_over(rig: Rig) -> None:
    rig.start()
    with rig.database.begin() as connection:
        connection.exec_driver_sql("UPDATE task_instance SET state = 'restarting'")
    rig.finish("handed_back")
    assert (rig.instance()["state"], rig.instance()["try_number"]) == ("none", 1)


@pytest.mark.parametrize("started", [False, True], ids=["queued", "running"])
def test_what_a_stopped_executor_did_not_finish_goes_back_uncharged(rig: Rig, started: bool) -> None:
    if started:
        rig.start()
    event = ExecutorEvent("handed_back", UUID(rig.handed[-1]["attempt_id"]), "the scheduler was stopped")
    rig.scheduler.executor.events = lambda: [event]  # type: ignore[method-assign]
    collect_reports(rig.scheduler.context)
    assert (rig.instance()["state"], rig.instance()["try_number"]) == ("scheduled", 0)
    assert [one["outcome"] for one in rig.attempts()] == (["handed_back"] if started else [])


def test_what_one_executor_tells_is_stored_although_another_fails_and_kept_while_the_database_is_away(
    rig: Rig, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.start()
    told = [ExecutorEvent("handed_back", UUID(rig.handed[-1]["attempt_id"]), "the scheduler was stopped")]
    context = rig.scheduler.context

    class Failing(type(rig.scheduler.executor)):  # type: ignore[misc]
        def events(self) -> list[ExecutorEvent]:
            raise RuntimeError("the broker is mad")

    def take() -> list[ExecutorEvent]:
        taken, told[:] = list(told), []
        return taken

    def away(_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("gone"))

    rig.scheduler.executor.events = take  # type: ignore[method-assign]
    monkeypatch.setattr(context, "executors", {"bad": Failing.__new__(Failing), **context.executors})
    with monkeypatch.context() as outage:
        outage.setattr(context, "database", SimpleNamespace(run=away))
        with pytest.raises(OperationalError):
            collect_reports(context)
    assert "executor 'bad' failed to tell what happened" in caplog.text
    assert collect_reports(context).count == 1
    assert (rig.instance()["state"], rig.instance()["try_number"]) == ("scheduled", 0)
    assert collect_reports(context).count == 0


def test_a_lost_attempt_says_when_it_started_and_where(rig: Rig) -> None:
    rig.start()
    began = rig.clock.now()
    rig.clock.advance(timedelta(seconds=31))
    rig.scheduler.beats()
    (lost,) = rig.attempts()
    assert (lost["outcome"], lost["error"]["kind"]) == ("failed", "lost")
    assert (lost["started_at"], lost["hostname"], lost["ended_at"]) == (began, "here", rig.clock.now())


def test_an_attempt_whose_instance_is_marked_is_closed_at_once_and_completed_by_its_worker(rig: Rig) -> None:
    rig.start()
    with rig.database.begin() as connection:
        mark_task(connection, "one", rig.run_id, "task", "success", now=rig.clock.now())
    (closed,) = rig.attempts()
    assert (closed["outcome"], closed["ended_at"], closed["hostname"]) == ("withdrawn", rig.clock.now(), "here")
    rig.clock.advance(timedelta(seconds=1))
    assert rig.finish("failed", signal=15, error={"kind": "terminated", "message": "told to stop"}) == set()
    (told,) = rig.attempts()
    assert (told["outcome"], told["signal"], rig.instance()["state"]) == ("failed", 15, "success")
    rig.finish("success")
    assert rig.attempts()[0]["outcome"] == "failed"


def test_an_attempt_that_was_cleared_says_so_though_its_pod_knows_only_that_it_was_deleted(rig: Rig) -> None:
    rig.start()
    with rig.database.begin() as connection:
        connection.exec_driver_sql("UPDATE task_instance SET state = 'restarting'")
    rig.finish("failed", error={"kind": "terminated", "message": "its pod was told to stop"})
    assert rig.attempts()[0]["error"]["message"] == "the attempt was ended while it ran: its task was cleared"


def test_an_attempt_that_was_ended_by_order_says_why_and_so_does_the_order(rig: Rig) -> None:
    """The order bears the reason to the worker; where its report knows none, the server's word stands."""
    rig.start()
    with rig.database.listen() as listener:
        with rig.database.begin() as connection:
            mark_run(connection, "one", rig.run_id, "failed", now=rig.clock.now())
        heard = [one.payload for one in listener.notifies(timeout=1) if one.channel.endswith("terminate")]
    assert heard == [f"{rig.handed[-1]['attempt_id']} its run was marked failed"]
    ended = "the attempt was ended while it ran: its run was marked failed"
    assert rig.attempts()[0]["error"]["message"] == ended
    rig.finish(
        "failed", error={"kind": "terminated", "type": "PodStopped", "message": "told to stop", "traceback": "x"}
    )
    assert rig.attempts()[0]["error"] == {
        "kind": "terminated", "type": "PodStopped", "message": ended, "traceback": "x"
    }  # fmt: skip


def test_a_task_that_the_time_limit_of_its_run_ended_says_so(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Before its worker has reported, and after."""
    rig = Rig(database, settings, clock, document={"dagrun_timeout_seconds": 60.0})
    rig.start()
    clock.advance(timedelta(seconds=29))
    for seconds in (0, 32):
        clock.advance(timedelta(seconds=seconds))
        with database.begin() as connection:
            connection.exec_driver_sql("UPDATE task_instance SET lease_until = lease_until + interval '1 hour'")
        rig.scheduler.beats()
    why = "the attempt was ended while it ran: its run took longer than its dagrun_timeout"
    assert rig.attempts()[0]["error"]["message"] == why
    rig.finish("failed", error={"kind": "terminated", "type": "TaskTerminated", "message": "told to stop (SIGTERM)"})
    with database.begin() as connection:
        found = why_is_task_not_running(connection, "one", rig.run_id, "task", now=clock.now(), settings=settings)
    assert why in found.sentence
