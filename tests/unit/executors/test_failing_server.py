"""A server that fails at what it is sent is waited for while that makes sense, and no longer."""

from __future__ import annotations

import logging
import threading
from typing import Any, cast
from uuid import UUID, uuid4

import pytest

from treadle_executors.batches import Answers, Batch, ExecutionFailing, ExecutionUnavailable
from treadle_executors.host_process import HostProcess
from treadle_executors.recorder import Recorder

LEASE = 0.06


class Server:
    """Records what it gets, but fails at whatever has to do with ``bad``, and with all ``failures`` first requests."""

    def __init__(self, failures: int = 0, error: type[ExecutionUnavailable] = ExecutionFailing) -> None:
        self.bad = str(uuid4())
        self.failures = failures
        self.error = error
        self.finished: set[str] = set()
        self.requests = 0

    def record(self, batch: Batch) -> Answers:
        """Record a batch."""
        self.requests += 1
        if self.requests <= self.failures:
            raise self.error("it answered with an error")
        ids = {one["attempt_id"] for one in (*batch.starts, *batch.finishes, *batch.heartbeats)}
        if self.bad in ids:
            raise ExecutionFailing("it answered 500")
        self.finished |= {one["attempt_id"] for one in batch.finishes}
        return Answers(
            starts=[{"attempt_id": one["attempt_id"], "accepted": True, "reason": ""} for one in batch.starts],
            accepted={one["attempt_id"] for one in batch.finishes},
            ours={one["attempt_id"] for one in batch.heartbeats},
        )

    def answer(self, request: object) -> None:
        """Answer nothing."""


class Host:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        """Take a message."""
        self.told.append(message)


def report(attempt_id: str) -> Any:
    return {"attempt_id": attempt_id, "outcome": "success", "xcoms": [], "asset_events": [], "error": None}


def record(server: Server, batch: Batch, host: Host | None = None) -> Any:
    recorder = Recorder(cast("Any", server), LEASE, threading.Event())
    recorder.begin(one["attempt_id"] for one in batch.heartbeats)
    return recorder.record(batch, cast("HostProcess", host or Host()))


def test_a_report_at_which_the_server_always_fails_holds_up_the_others_for_two_leases_and_is_told_as_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, good = Server(), str(uuid4())
    answers, events = record(server, Batch(finishes=[report(good), report(server.bad)]))
    assert answers.accepted == server.finished == {good}
    assert [(one.kind, one.attempt_id) for one in events] == [("lost", UUID(server.bad))]
    assert "the server could not record how the attempt ended: it answered 500" in events[0].reason
    assert "the server has failed at 2 reports for two leases; each is tried alone" in caplog.text


def test_a_start_at_which_the_server_fails_is_refused_and_a_heartbeat_left_to_its_lease() -> None:
    server = Server()
    answers, _ = record(server, Batch(starts=[report(server.bad)]))
    assert [(one["accepted"], "could not record the start" in one["reason"]) for one in answers.starts] == [
        (False, True)
    ]
    answers, _ = record(server, Batch(heartbeats=[report(server.bad)]))
    assert (answers.ours, answers.unsure) == ({server.bad}, {server.bad})


def test_a_server_that_fails_for_a_moment_loses_nothing() -> None:
    server, good = Server(failures=2), str(uuid4())
    answers, events = record(server, Batch(finishes=[report(good)]))
    assert (answers.accepted, events) == ({good}, [])


def test_a_server_that_is_away_is_waited_for_longer_attempts_without_a_lease_are_ended_and_it_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, good, host = Server(failures=4, error=ExecutionUnavailable), str(uuid4()), Host()
    with caplog.at_level(logging.WARNING):
        answers, events = record(server, Batch(finishes=[report(good)], heartbeats=[report("running")]), host)
    assert (answers.accepted, events) == ({good}, [])
    assert [(one["kind"], one["attempt_id"]) for one in host.told] == [("terminate", "running")]
    assert [one.getMessage() for one in caplog.records] == [
        "the server cannot be reached, trying again with 2 reports: it answered with an error"
    ]
