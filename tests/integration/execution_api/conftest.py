"""A queued attempt, the web application that knows it, and the means to speak for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

import pytest
from fastapi import FastAPI
from tests.support.holding import hold
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.web import Client, client_of

from treadle.document import TaskDocument
from treadle_metadata.attempt_tokens import AttemptClaim, Scope
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.settings import Settings
from treadle_webserver.app import create_app


@dataclass
class Worker:
    """Speaks for attempts as a worker machine does: with nothing but their tokens."""

    client: Client
    app: FastAPI
    clock: ManualClock
    scheduler: TestScheduler

    def attempt(self, task_id: str) -> AttemptRef:
        """Return the attempt of a task that was handed over."""
        (one,) = [one for one in self.scheduler.context.executors["instant"].taken if one["task_id"] == task_id]  # type: ignore[attr-defined]
        return AttemptRef(UUID(one["attempt_id"]), one["task_instance_id"], date.fromisoformat(one["month"]))

    def token(self, attempt: AttemptRef, scope: Scope = Scope.QUEUED) -> str:
        """Return a token as the scheduler makes it."""
        return self.app.state.service.attempt_tokens.issue(AttemptClaim(attempt, scope), now=self.clock.now())

    def item(self, attempt: AttemptRef, token: str, **more: Any) -> dict[str, Any]:
        """Return a report of ``attempt``."""
        return {
            "attempt_id": str(attempt.attempt_id),
            "task_instance_id": attempt.task_instance_id,
            "month": attempt.month.isoformat(),
            "token": token,
            "hostname": "worker-7",
            "started_at": self.clock.now().isoformat(),
            **more,
        }

    def report(self, proof: str, **lists: list[dict[str, Any]]) -> Any:
        """Send reports and return the answer, which must not be an error."""
        answer = self.client.post("/execution/v1/reports", json=lists, headers={"Authorization": f"Bearer {proof}"})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def start(self, task_id: str) -> tuple[AttemptRef, str]:
        """Start the attempt of a task; return it and its token as a running one."""
        attempt = self.attempt(task_id)
        token = self.token(attempt)
        said = self.report(token, starts=[self.item(attempt, token)])
        assert said["starts"][0]["accepted"], said
        return attempt, said["tokens"][str(attempt.attempt_id)]

    def finish(self, attempt: AttemptRef, token: str, **more: Any) -> Any:
        """Report the end of an attempt."""
        ended = {"outcome": "success", "ended_at": self.clock.now().isoformat(), "xcoms": []}
        return self.report(token, finishes=[self.item(attempt, token, **(ended | more))])


@pytest.fixture
def worker(database: Database, settings: Settings, clock: ManualClock) -> Iterator[Worker]:
    """A worker, and a run of DAG "d" whose tasks a and b are queued; c waits for a."""
    scheduler = TestScheduler(database, settings, clock)
    hold(scheduler, unstarted=("a", "b", "c"))
    tasks = (TaskDocument("a"), TaskDocument("b", retries=1), TaskDocument("c", upstream=("a",)))
    scheduler.install(a_dag("d", *tasks))
    scheduler.trigger("d", run_id="r")
    scheduler.beats()
    app = create_app(settings, database, clock=clock)
    with client_of(app) as client:
        yield Worker(client, app, clock, scheduler)
