"""The Execution API: what an attempt's token allows, and all that it does not (issue 4, part 1; case F18)."""

from __future__ import annotations

import base64
import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from tests.integration.execution_api.conftest import Worker
from tests.integration.web.conftest import add_account
from tests.support.web import client_of, session_of

from treadle_metadata.accounts import Role
from treadle_metadata.attempt_tokens import RUNNING_LIFETIME, AttemptClaim, AttemptTokens, Scope
from treadle_metadata.connection import TASKS, WAKE, Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.settings import Settings
from treadle_metadata.statements import tuples
from treadle_webserver.app import create_app


def state_of(worker: Worker, task_id: str) -> str:
    return worker.scheduler.task_states("r")[task_id]


def test_an_attempt_starts_lives_and_ends(worker: Worker) -> None:
    attempt, token = worker.start("a")
    assert state_of(worker, "a") == "running"
    said = worker.report(token, heartbeats=[worker.item(attempt, token, asked_at=1.0)])
    assert said["ours"] == [str(attempt.attempt_id)]
    fresh = said["tokens"][str(attempt.attempt_id)]
    xcom = {"key": "return_value", "value": "42", "length": None}
    assert worker.finish(attempt, fresh, xcoms=[xcom])["accepted"] == [str(attempt.attempt_id)]
    worker.scheduler.beats()
    assert (state_of(worker, "a"), state_of(worker, "c")) == ("success", "queued")


def test_the_end_of_an_attempt_wakes_schedulers_and_its_start_does_not(worker: Worker, database: Database) -> None:
    with database.listen() as listening:
        attempt, token = worker.start("a")
        worker.finish(attempt, token)
        heard = [(one.channel, one.payload) for one in listening.notifies(timeout=5, stop_after=1)]
    assert heard == [(WAKE, TASKS)]


def test_a_question_is_answered_for_the_tokens_own_run(worker: Worker) -> None:
    attempt, token = worker.start("a")
    worker.finish(attempt, token, xcoms=[{"key": "return_value", "value": "42", "length": None}])
    worker.scheduler.beats()
    _, asking = worker.start("c")
    question = {"op": "get_xcoms", "args": {"items": [{"task_id": "a", "key": "return_value"}]}}
    answer = worker.client.post("/execution/v1/questions", json=question, headers={"Authorization": f"Bearer {asking}"})
    assert answer.status_code == 200, answer.text
    assert "42" in str(answer.json()["result"])


def test_a_token_of_one_attempt_changes_no_other(worker: Worker) -> None:
    other, (_, token) = worker.attempt("b"), worker.start("a")
    said = worker.report(
        token,
        starts=[worker.item(other, token)],
        finishes=[worker.item(other, token, outcome="success", ended_at=worker.clock.now().isoformat(), xcoms=[])],
        heartbeats=[worker.item(other, token, asked_at=1.0)],
    )
    assert (said["starts"], said["accepted"], said["ours"], said["tokens"]) == ([], [], [], {})
    assert {one["reason"] for one in said["refused"]} == {
        "the token is another attempt's",
        "the token is for an attempt that is running; this needs queued",
    }
    assert state_of(worker, "b") == "queued"


def test_a_refused_report_holds_up_no_other(worker: Worker) -> None:
    first, second = worker.attempt("a"), worker.attempt("b")
    token = worker.token(first)
    said = worker.report(token, starts=[worker.item(first, token), worker.item(second, "forged")])
    assert [(one["attempt_id"], one["accepted"]) for one in said["starts"]] == [(str(first.attempt_id), True)]
    assert [one["attempt_id"] for one in said["refused"]] == [str(second.attempt_id)]


def test_a_report_that_can_never_be_stored_is_refused_and_not_put_off(worker: Worker) -> None:
    """Its worker would send it again for ever, before all others."""
    attempt, token = worker.start("a")
    too_long = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9FFF), k=5000)))
    ended = {"outcome": "success", "ended_at": worker.clock.now().isoformat()}
    finish = worker.item(attempt, token, xcoms=[{"key": too_long, "value": "1", "length": None}], **ended)
    proof = {"Authorization": f"Bearer {token}"}
    answer = worker.client.post("/execution/v1/reports", json={"finishes": [finish]}, headers=proof)
    assert (answer.status_code, "too large" in answer.text) == (422, True)


def test_a_token_is_dead_when_its_attempt_is_over(worker: Worker) -> None:
    attempt, token = worker.start("a")
    worker.finish(attempt, token)
    assert worker.report(token, heartbeats=[worker.item(attempt, token, asked_at=1.0)])["ours"] == []
    assert worker.finish(attempt, token, outcome="failed")["accepted"] == []
    question = {"op": "get_variable", "args": {"key": "x"}}
    answer = worker.client.post("/execution/v1/questions", json=question, headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, "is over" in answer.json()["detail"]) == (422, True)


def test_a_queued_attempts_token_asks_nothing(worker: Worker) -> None:
    token = worker.token(worker.attempt("a"))
    question = {"op": "get_connection", "args": {"conn_id": "x"}}
    answer = worker.client.post("/execution/v1/questions", json=question, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 403


def test_an_expired_token_is_refused_by_the_servers_clock(worker: Worker) -> None:
    _, token = worker.start("a")
    worker.clock.advance(RUNNING_LIFETIME + timedelta(seconds=1))
    answer = worker.client.post("/execution/v1/reports", json={}, headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, "expired" in answer.json()["detail"]) == (401, True)


@pytest.mark.parametrize("make", ["login", "other installation", "no token", "nothing"])
def test_only_an_attempts_token_of_this_installation_is_taken(worker: Worker, make: str) -> None:
    attempt, now = worker.attempt("a"), worker.clock.now()
    database = worker.app.state.service.database
    token = {
        "login": session_of(database, add_account(database, Role.ADMIN, worker.clock), worker.clock),
        "other installation": AttemptTokens("some other key, which is long").issue(
            AttemptClaim(attempt, Scope.QUEUED), now=now
        ),
        "no token": "a.b.c",
        "nothing": "",
    }[make]
    answer = worker.client.post("/execution/v1/reports", json={}, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401


def test_tokens_outlive_the_change_of_their_key(worker: Worker) -> None:
    claim, now = AttemptClaim(worker.attempt("a"), Scope.QUEUED), worker.clock.now()
    before = AttemptTokens("the old key").issue(claim, now=now)
    assert (
        AttemptTokens("the new key, the old key".replace("key, ", "key,")).read(before, (Scope.QUEUED,), now=now)
        == claim
    )


def test_a_token_for_an_attempt_that_never_was_does_nothing(worker: Worker) -> None:
    never = replace(worker.attempt("a"), attempt_id=uuid4())
    token = worker.token(never)
    said = worker.report(token, starts=[worker.item(never, token)])
    assert [one["accepted"] for one in said["starts"]] == [False]
    assert said["tokens"] == {}


def test_unknown_fields_are_tolerated_and_a_newer_worker_is_not(worker: Worker) -> None:
    attempt = worker.attempt("a")
    token = worker.token(attempt)
    said = worker.report(token, starts=[worker.item(attempt, token, shoe_size=46)], gossip=[])
    assert said["starts"][0]["accepted"]
    headers = {"Authorization": f"Bearer {token}", "Treadle-Execution-Version": "99"}
    answer = worker.client.post("/execution/v1/reports", json={}, headers=headers)
    assert (answer.status_code, "upgrade the server" in answer.json()["detail"]) == (400, True)
    assert answer.headers["Treadle-Execution-Version"] == "1"


def test_a_report_that_lacks_something_is_refused_in_words(worker: Worker) -> None:
    attempt, token = worker.start("a")
    body = {"finishes": [worker.item(attempt, token)]}
    answer = worker.client.post("/execution/v1/reports", json=body, headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, "xcoms" in answer.text) == (422, True)
    assert state_of(worker, "a") == "running"


@pytest.mark.parametrize("ahead", [-25.0, -15.0, -5.0, 0.4, 3.0, 5.0, 15.0, 25.0])
def test_a_start_that_comes_again_is_known_whatever_the_skew_and_that_of_another_process_is_not(
    worker: Worker, ahead: float
) -> None:
    """Near a half step the skew is taken for one number of steps at first and for another when it comes again."""
    began = worker.clock.now() + timedelta(seconds=ahead)
    attempt = worker.attempt("a")
    token = worker.token(attempt)

    def start(started: datetime, delay: float) -> bool:
        body = {
            "starts": [worker.item(attempt, token, started_at=started.isoformat())],
            "sent_at": (worker.clock.now() + timedelta(seconds=ahead - delay)).isoformat(),
        }
        said = worker.client.post("/execution/v1/reports", json=body, headers={"Authorization": f"Bearer {token}"})
        return bool(said.json()["starts"][0]["accepted"])

    assert start(began, 0.01)
    worker.clock.advance(timedelta(seconds=2.5))
    assert start(began, -0.01)
    assert start(began, 0.7)
    assert not start(began + timedelta(microseconds=731), 0.01)


@pytest.mark.parametrize("minutes", [-5, 5])
def test_times_of_a_worker_whose_clock_is_wrong_are_told_by_the_servers(worker: Worker, minutes: int) -> None:
    """A clock skew of 5 minutes: the retry of b comes when it should, whatever the worker believes."""
    now = worker.clock.now()
    skewed = (now + timedelta(minutes=minutes)).isoformat()
    attempt = worker.attempt("b")
    token = worker.token(attempt)
    start = worker.item(attempt, token, started_at=skewed)
    said = worker.client.post(
        "/execution/v1/reports",
        json={"starts": [start], "sent_at": skewed},
        headers={"Authorization": f"Bearer {token}"},
    ).json()
    running = said["tokens"][str(attempt.attempt_id)]
    # The answer got lost, and the same start comes again a moment later by both clocks.
    later = (now + timedelta(minutes=minutes, seconds=2)).isoformat()
    worker.clock.advance(timedelta(seconds=2))
    again = worker.client.post(
        "/execution/v1/reports",
        json={"starts": [start], "sent_at": later},
        headers={"Authorization": f"Bearer {token}"},
    ).json()
    assert [one["accepted"] for one in again["starts"]] == [True]
    end = worker.item(attempt, running, started_at=skewed, ended_at=later, outcome="failed", xcoms=[], error=None)
    body = {"finishes": [end | {"retry_delay_seconds": 60.0}], "sent_at": later}
    worker.client.post("/execution/v1/reports", json=body, headers={"Authorization": f"Bearer {running}"})
    with worker.scheduler.database.begin() as connection:
        sql = """
            SELECT attempt.started_at, attempt.ended_at, next_retry_at FROM task_attempt AS attempt
            JOIN task_instance USING (attempt_id) WHERE attempt_id = %(id)s
        """
        ((started, ended, retry),) = tuples(connection, sql, {"id": attempt.attempt_id})
    assert (started, ended) == (now, now + timedelta(seconds=2))
    assert retry == ended + timedelta(seconds=60)


def test_a_report_from_the_future_is_taken_for_one_of_now(worker: Worker) -> None:
    attempt, token = worker.start("a")
    ended = (worker.clock.now() + timedelta(days=400)).isoformat()
    assert worker.finish(attempt, token, ended_at=ended)["accepted"] == [str(attempt.attempt_id)]
    with worker.scheduler.database.begin() as connection:
        sql = "SELECT ended_at FROM task_attempt WHERE attempt_id = %(id)s"
        assert tuples(connection, sql, {"id": attempt.attempt_id}) == [(worker.clock.now(),)]


def test_logs_come_in_parts_that_may_repeat(worker: Worker) -> None:
    attempt, token = worker.start("a")
    other = worker.attempt("b")

    def send(offset: int, data: bytes, sender: AttemptRef = attempt) -> Any:
        part = {"attempt_id": str(sender.attempt_id), "token": token, "offset": offset}
        body = {"parts": [part | {"data": base64.b64encode(data).decode()}]}
        answer = worker.client.post("/execution/v1/logs", json=body, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200, answer.text
        return answer.json()["sizes"].get(str(sender.attempt_id))

    assert send(0, b"") == 0
    assert send(0, b"one\n") == 4
    assert send(4, b"two\n") == 8
    assert send(0, b"one\n") == 8
    assert send(100, b"ten\n") == 8
    assert send(0, b"of another", other) is None
    with worker.scheduler.database.begin() as connection:
        sql = "SELECT log_path FROM task_attempt WHERE attempt_id = %(id)s"
        ((path,),) = tuples(connection, sql, {"id": attempt.attempt_id})
    folder = worker.app.state.service.settings.path("logs_folder")
    assert (folder / path).read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize(
    ("apps", "people", "workers"), [(("api",), 401, 404), (("execution",), 404, 401), (("api", "execution"), 401, 401)]
)
def test_each_part_can_be_served_alone(
    worker: Worker, settings: Settings, database: Database, apps: tuple[str, ...], people: int, workers: int
) -> None:
    with client_of(create_app(settings, database, apps=apps)) as client:
        assert client.get("/api/v2/dags").status_code == people
        assert client.post("/execution/v1/reports", json={}).status_code == workers
        assert client.get("/api/v2/monitor/health").status_code == 200
