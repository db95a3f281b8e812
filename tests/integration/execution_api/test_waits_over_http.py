"""Sensors and human steps of workers on other machines: their questions and their reschedules over the real API."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.integration.execution_api.conftest import Worker

from treadle_metadata import human_steps
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.queries.task_instances import get_instance


def asked(worker: Worker, attempt: AttemptRef, token: str, op: str, **args: Any) -> Any:
    """Ask as a worker machine does, with the attempt's token."""
    answer = worker.client.post(
        "/execution/v1/questions", json={"op": op, "args": args}, headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == 200, answer.text
    assert attempt
    return answer.json()["result"]


def test_a_sensor_waits_looks_at_another_dag_and_is_rescheduled(worker: Worker) -> None:
    attempt, token = worker.start("a")
    known = asked(worker, attempt, token, "note_wait", mode="reschedule", timeout=60, first_try=1)
    assert (known["waited"], known["pokes"], known["at"]) == (0.0, 1, worker.clock.now().isoformat())
    states = asked(worker, attempt, token, "get_states", dag_id="d", logical_dates=[], task_ids=["b"], group_id=None)
    assert states == {"runs": [], "missing": []}
    later = (worker.clock.now() + timedelta(seconds=10)).isoformat()
    worker.finish(attempt, token, outcome="suspended", resume={"at": later, "name": "", "inputs": ""})
    assert worker.scheduler.task_states("r")["a"] == "up_for_reschedule"
    worker.clock.advance(timedelta(seconds=10))
    worker.scheduler.beats()
    assert worker.scheduler.task_states("r")["a"] == "queued"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"subject": ""}, "1 to 1000 characters"),
        ({"options": []}, "needs options"),
        ({"options": ["a\0"]}, "cannot be stored"),
        ({"body": "\ud800"}, "cannot be stored"),
        ({"body": "x" * 2**20}, "larger than"),
        ({"seconds": -1}, "nobody can be waited for"),
    ],
)
def test_a_question_that_cannot_be_stored_is_refused_in_words(worker: Worker, wrong: dict[str, Any], said: str) -> None:
    _, token = worker.start("a")
    question: dict[str, Any] = {"subject": "Go?", "options": ["yes"], **wrong}
    answer = worker.client.post(
        "/execution/v1/questions",
        content=json.dumps({"op": "ask_human", "args": question}),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    assert (answer.status_code, said in answer.text) == (422, True), answer.text


def test_a_question_is_asked_once_and_its_answer_lets_the_task_go_on(worker: Worker) -> None:
    attempt, token = worker.start("a")
    question: dict[str, Any] = {
        "subject": "Go?",
        "options": ["yes"],
        "defaults": None,
        "params": {},
        "assignees": [],
        "seconds": None,
    }
    for is_new in (True, False):
        told = asked(worker, attempt, token, "ask_human", **question)
        assert (told["is_new"], told["state"]) == (is_new, "waiting")
    with worker.scheduler.database.begin() as connection:
        instance = get_instance(connection, "d", "r", "a")
        human_steps.respond(connection, instance, ["yes"], {}, by="ann", now=worker.clock.now())
    far = (worker.clock.now() + timedelta(days=36600)).isoformat()
    # It was answered before the attempt ended, so it goes on at once.
    worker.finish(attempt, token, outcome="suspended", resume={"at": far, "name": "an answer", "inputs": ""})
    worker.scheduler.beats()
    assert worker.scheduler.task_states("r")["a"] == "queued"
    late = {"op": "ask_human", "args": question}
    answer = worker.client.post("/execution/v1/questions", json=late, headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, "is over" in answer.text) == (422, True)
