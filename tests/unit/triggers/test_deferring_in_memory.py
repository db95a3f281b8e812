"""Deferred tasks under ``dag.test()``: the same waits, in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.runtime.attempts import attempt

from treadle import DAG, BaseOperator, xcom
from treadle.errors import DagError
from treadle.runtime.dag_test_result import TaskResult
from treadle.runtime.deferring import Resume
from treadle.serialization import document_of
from treadle.triggers import (
    BaseTrigger,
    DateTimeTrigger,
    StartTriggerArgs,
    TaskFailedEvent,
    TaskSuccessEvent,
    TimeDeltaTrigger,
    TriggerEvent,
)


class Say(BaseTrigger):
    """Fires at once, with what it is told to say."""

    def __init__(self, what: Any, how: str = "event") -> None:
        self.what = what
        self.how = how

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return f"{__name__}.Say", {"what": self.what, "how": self.how}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        if self.how == "raise":
            raise RuntimeError(self.what)
        if self.how == "for ever":
            await asyncio.Event().wait()
        if self.how == "succeed":
            yield TaskSuccessEvent(xcoms={"return_value": self.what})
        if self.how == "fail":
            yield TaskFailedEvent(reason=self.what)
        if self.how == "event":
            yield TriggerEvent(self.what)


class Waits(BaseOperator):
    """Defers once, then returns the event and its own argument."""

    def __init__(self, *, trigger: BaseTrigger, timeout: float | None = None, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.trigger = trigger
        self.timeout = timeout

    def execute(self, context: Any) -> None:
        context["ti"].xcom_push("before", "pushed before")
        self.defer(trigger=self.trigger, method_name="go_on", kwargs={"more": 7}, timeout=self.timeout)

    def go_on(self, context: Any, event: Any, more: int) -> Any:
        return [event, more, context["ti"].xcom_pull(key="before", task_ids=self.task_id)]


def ended_test(trigger: BaseTrigger, timeout: float | None = None, **arguments: Any) -> TaskResult:
    with DAG("waiting") as dag:
        Waits(task_id="wait", trigger=trigger, timeout=timeout, **arguments)
    return dag.test().tasks[0]


def test_a_deferred_task_goes_on_with_its_event_and_arguments() -> None:
    ended = ended_test(Say({"when": datetime(2025, 1, 1, tzinfo=UTC)}))
    assert ended.state == "success"
    assert ended.xcoms["return_value"][:2] == [{"when": datetime(2025, 1, 1, tzinfo=UTC)}, 7]
    assert ended.xcoms["before"] == "pushed before"


def test_the_log_says_where_a_deferred_task_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "treadle.task"):
        assert ended_test(Say(1)).state == "success"
    assert caplog.messages[-1] == "The event has come: the task goes on in go_on"


class WaitsOn(Waits):
    """Goes on in a method that never ends by itself."""

    def go_on(self, context: Any, event: Any, more: int) -> Any:  # noqa: ARG002
        threading.Event().wait()


@pytest.mark.parametrize("ago", [59.9, 3600.0])
def test_what_goes_on_has_what_is_left_of_the_execution_timeout(ago: float) -> None:
    """Case D1: the limit counts from the first start of the try, whatever of it was spent in waits."""
    with DAG("waiting") as dag:
        WaitsOn(task_id="wait", trigger=Say(1), execution_timeout=timedelta(seconds=60))
    began = datetime.now(UTC) - timedelta(seconds=ago)
    resume = {"method": "go_on", "kwargs": xcom.dumps({"more": 1})[0], "event": xcom.dumps(1)[0]}
    result = attempt(dag, "wait", resume=resume | {"first_started_at": began.isoformat()})
    assert (result.outcome, (result.error or {}).get("type")) == ("failed", "TaskTimeout")
    assert datetime.now(UTC) - began < timedelta(seconds=ago + 30)


@pytest.mark.parametrize(("kind", "told"), [("end", "The trigger has ended the task: skipped"), ("exception", None)])
def test_the_log_says_that_a_trigger_ended_a_task_and_leaves_failures_to_their_error(
    kind: str, told: str | None
) -> None:
    facts = {"kind": kind, "outcome": "skipped", "xcoms": {}}
    resume = Resume.of({"resume": {"first_started_at": None, "error": facts}})
    assert resume is not None
    assert resume.words == told


@pytest.mark.parametrize(
    ("trigger", "timeout", "told"),
    [
        (Say("boom", "raise"), None, "boom"),
        (Say("", "for ever"), 0.01, "no event came within the deferral's timeout of 0.01 s"),
        (Say("", "nothing"), None, "ended without an event"),
        (Say("a reason", "fail"), None, "a reason"),
    ],
)
def test_a_task_fails_whose_trigger_brings_no_event(trigger: BaseTrigger, timeout: float | None, told: str) -> None:
    ended = ended_test(trigger, timeout)
    assert ended.state == "failed"
    assert told in ended.message


def test_a_trigger_may_end_the_task_itself() -> None:
    ended = ended_test(Say([1, 2], "succeed"))
    assert (ended.state, ended.xcoms["return_value"]) == ("success", [1, 2])


def test_each_retry_of_a_deferred_task_begins_with_execute() -> None:
    ended = ended_test(Say("no", "fail"), retries=2)
    assert (ended.state, ended.tries) == ("failed", 3)


def test_a_time_trigger_made_anew_waits_for_the_same_moment() -> None:
    trigger = TimeDeltaTrigger(timedelta(hours=1))
    path, kwargs = trigger.serialize()
    assert path == "treadle.triggers.temporal.DateTimeTrigger"
    assert DateTimeTrigger(**kwargs).moment == trigger.moment


def test_a_moment_that_is_over_fires_at_once() -> None:
    moment = datetime(2025, 1, 1, tzinfo=UTC)
    assert ended_test(DateTimeTrigger("2025-01-01T00:00:00")).xcoms["return_value"][0] == moment


def test_what_cannot_be_carried_fails_the_task_with_its_place() -> None:
    ended = ended_test(Say(object()))
    assert ended.state == "failed"
    assert "arguments of" in ended.message
    assert "$" in ended.message


class Begins(BaseOperator):
    """Starts from a trigger."""

    start_from_trigger = True
    start_trigger_args = StartTriggerArgs(
        trigger_cls="treadle.triggers.temporal.DateTimeTrigger",
        trigger_kwargs={"moment": datetime(2025, 1, 1, tzinfo=UTC)},
        next_method="go_on",
        timeout=timedelta(minutes=1),
    )

    def go_on(self, context: Any, event: Any) -> Any:
        return [context["ti"].task_id, event]


def test_the_document_says_how_a_task_starts_from_its_trigger() -> None:
    with DAG("waiting") as dag:
        Begins(task_id="begin")
    start = document_of(dag).tasks[0].start_trigger
    assert start["classpath"] == "treadle.triggers.temporal.DateTimeTrigger"
    assert (start["next_method"], start["timeout_seconds"]) == ("go_on", 60.0)
    assert "2025-01-01" in start["kwargs"]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (None, "no start_trigger_args"),
        (StartTriggerArgs("x.Y", next_method="nothing"), "next_method='nothing'"),
        (StartTriggerArgs("x.Y", next_method="go_on", trigger_kwargs={"x": object()}), "trigger_kwargs"),
    ],
)
def test_a_task_that_cannot_start_from_its_trigger_is_an_error_of_the_file(args: Any, told: str) -> None:
    with DAG("waiting") as dag:
        Begins(task_id="begin").start_trigger_args = args
    with pytest.raises(DagError, match=told):
        document_of(dag)


def test_a_task_under_test_starts_from_its_trigger_too() -> None:
    with DAG("waiting") as dag:
        Begins(task_id="begin")
    assert dag.test().tasks[0].xcoms["return_value"] == ["begin", datetime(2025, 1, 1, tzinfo=UTC)]
