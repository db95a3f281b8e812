"""What user code does, and how its attempt ends."""

# ruff: noqa: ARG002 - the contract of operators names the context

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.runtime.attempts import Answers, attempt, returned

from treadle import DAG, BaseOperator, FailTask, SkipTask, TaskTimeout, task
from treadle.runtime import masking
from treadle.runtime.context import get_current_context
from treadle.runtime.run_task import Limits


def dag_of(function: Callable[..., Any], **arguments: Any) -> DAG:
    with DAG("d") as dag:
        task(task_id="t", **arguments)(function)()
    return dag


def raising(error: BaseException) -> Callable[[], None]:
    def raise_it() -> None:
        raise error

    return raise_it


class Unwilling(BaseException):
    pass


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "outcome", "kind", "exit_code"),
    [
        (ValueError("x"), "failed", "exception", None),
        (SkipTask("not today"), "skipped", None, None),
        (FailTask("never"), "failed_without_retry", "exception", None),
        (SystemExit(3), "failed", "exit", 3),
        (SystemExit(), "failed", "exit", 0),
        (SystemExit("gone"), "failed", "exit", 1),
        (KeyboardInterrupt(), "failed", "exception", None),
        (Unwilling(), "failed", "exception", None),
        (Unprintable(), "failed", "exception", None),
        (RecursionError("deep"), "failed", "exception", None),
        (MemoryError(), "failed", "exception", None),
    ],
)
def test_each_way_to_end_has_its_outcome(
    error: BaseException, outcome: str, kind: str | None, exit_code: int | None
) -> None:
    result = attempt(dag_of(raising(error)), "t")
    assert (result.outcome, result.exit_code) == (outcome, exit_code)
    assert (result.error["kind"] if result.error else None) == kind
    if result.error:
        assert result.error["type"] == type(error).__name__


def test_sys_exit_says_how_to_succeed() -> None:
    result = attempt(dag_of(lambda: sys.exit(0)), "t")
    assert result.error is not None
    assert "sys.exit(0)" in result.error["message"]


def test_the_traceback_begins_in_user_code() -> None:
    result = attempt(dag_of(raising(ValueError("boom"))), "t")
    assert result.error is not None
    assert "raise_it" in result.error["traceback"]
    assert "run_task.py" not in result.error["traceback"]


def test_a_huge_message_and_nul_are_made_storable() -> None:
    result = attempt(dag_of(raising(ValueError("a\0b" + "x" * 1_000_000))), "t")
    assert result.error is not None
    assert "\0" not in result.error["message"] + result.error["traceback"]
    assert len(result.error["traceback"]) < 100_000


def test_a_secret_in_an_exception_is_masked() -> None:
    masking.add_secret("hunter2-the-secret")
    result = attempt(dag_of(raising(ValueError("login with hunter2-the-secret failed"))), "t")
    assert result.error is not None
    assert "hunter2" not in result.error["message"] + result.error["traceback"]


class Slow(BaseOperator):
    killed = 0

    def execute(self, context: Any) -> None:
        try:
            threading.Event().wait(30)
        except Exception:  # a time-out is no Exception, so code like this does not swallow it
            return

    def on_kill(self) -> None:
        Slow.killed += 1


def test_a_time_out_interrupts_calls_on_kill_and_may_be_retried() -> None:
    Slow.killed = 0
    with DAG("d") as dag:
        Slow(task_id="t", execution_timeout=0.05)
    result = attempt(dag, "t")
    assert (result.outcome, result.error and result.error["kind"], Slow.killed) == ("failed", "timeout", 1)
    assert result.error is not None
    assert "execution_timeout of 0:00:00.05" in result.error["message"]
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_time_limit_that_is_kept_leaves_no_alarm_behind() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert returned(attempt(dag_of(lambda: 1, execution_timeout=60), "t")) == 1
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_task_may_catch_its_own_time_out() -> None:
    def patient() -> str:
        try:
            threading.Event().wait(30)
        except TaskTimeout:
            return "saved"
        return "late"

    assert returned(attempt(dag_of(patient, execution_timeout=0.05), "t")) == "saved"


def test_sigterm_calls_on_kill_once_and_ends_the_attempt() -> None:
    class Terminated(Slow):
        def execute(self, context: Any) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            os.sched_yield()

    Slow.killed = 0
    before = signal.getsignal(signal.SIGTERM)
    with DAG("d") as dag:
        Terminated(task_id="t")
    result = attempt(dag, "t")
    assert (result.outcome, result.error and result.error["kind"], Slow.killed) == ("failed", "terminated", 1)
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_on_kill_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Slow):
        def on_kill(self) -> None:
            raise OSError("cannot kill")

    with DAG("d") as dag:
        Broken(task_id="t", execution_timeout=0.05)
    assert attempt(dag, "t").error["kind"] == "timeout"  # type: ignore[index]
    assert "on_kill failed" in caplog.text


@pytest.mark.parametrize(
    ("error", "try_number", "called"),
    [
        (None, 1, ["execute", "success"]),
        (ValueError(), 1, ["execute", "retry"]),
        (ValueError(), 3, ["execute", "failure"]),
        (FailTask(), 1, ["execute", "failure"]),
        (SkipTask(), 1, ["execute", "skipped"]),
    ],
)
def test_callbacks_follow_the_outcome(error: BaseException | None, try_number: int, called: list[str]) -> None:
    seen: list[str] = []
    names = ["execute", "success", "failure", "retry", "skipped"]
    callbacks = {f"on_{name}_callback": [lambda _, name=name: seen.append(name)] for name in names}
    function = raising(error) if error else lambda: None
    attempt(dag_of(function, retries=2, **callbacks), "t", try_number=try_number, max_tries=2)
    assert seen == called


def test_a_callback_sees_the_exception_and_the_state() -> None:
    seen = []

    def note(context: Any) -> None:
        seen.append((str(context["exception"]), context["ti"].state, get_current_context() is context))

    attempt(dag_of(raising(ValueError("boom")), on_failure_callback=note), "t")
    assert seen == [("boom", "failed", True)]


def test_a_failing_callback_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Any) -> None:
        raise RuntimeError("pager is down")

    result = attempt(dag_of(lambda: 5, on_success_callback=broken, on_execute_callback=broken), "t")
    assert returned(result) == 5
    assert "pager is down" in caplog.text


def test_hooks_run_in_order_and_may_skip() -> None:
    seen: list[Any] = []

    class Hooked(BaseOperator):
        def pre_execute(self, context: Any) -> None:
            seen.append("method before")

        def execute(self, context: Any) -> int:
            seen.append("execute")
            return 7

        def post_execute(self, context: Any, result: Any = None) -> None:
            seen.append(f"method after {result}")

    with DAG("d") as dag:
        Hooked(
            task_id="t",
            pre_execute=lambda _: seen.append("hook before"),
            post_execute=lambda _, result: seen.append(f"hook after {result}"),
        )
    attempt(dag, "t")
    assert seen == ["hook before", "method before", "execute", "hook after 7", "method after 7"]

    def skip(_: Any) -> None:
        raise SkipTask("not on Sundays")

    assert attempt(dag_of(lambda: 1, pre_execute=skip), "t").outcome == "skipped"


def test_what_cannot_be_pushed_fails_the_attempt_with_its_path() -> None:
    result = attempt(dag_of(lambda: {"rows": [object()]}), "t")
    assert result.outcome == "failed"
    assert result.error is not None
    assert "$.rows[0]" in result.error["message"]


def test_a_result_above_the_limit_fails_the_attempt_with_size_limit_and_key() -> None:
    result = attempt(dag_of(lambda: "x" * 50_000), "t", limits=Limits(xcom_max_bytes=10_000))
    assert result.outcome == "failed"
    assert result.xcoms == []
    assert result.error is not None
    for words in ("50,002", "10,000", "'return_value'"):
        assert words in result.error["message"]


def test_pushed_values_are_kept_when_the_task_fails_later() -> None:
    def push_then_fail(ti: Any = None) -> None:
        ti.xcom_push("progress", 3)
        raise ValueError("later")

    result = attempt(dag_of(push_then_fail), "t")
    assert [(one["key"], one["value"]) for one in result.xcoms] == [("progress", "3")]


def test_nothing_is_pushed_for_none_or_without_do_xcom_push() -> None:
    assert attempt(dag_of(lambda: None), "t").xcoms == []
    assert attempt(dag_of(lambda: 3, do_xcom_push=False), "t").xcoms == []


def test_multiple_outputs_push_each_key_and_the_whole() -> None:
    result = attempt(dag_of(lambda: {"a": 1, "b": [2]}, multiple_outputs=True), "t")
    assert {one["key"]: (one["value"], one["length"]) for one in result.xcoms} == {
        "a": ("1", None),
        "b": ("[2]", 1),
        "return_value": ('{"a":1,"b":[2]}', 2),
    }


def test_multiple_outputs_of_something_else_fail_with_what_was_returned() -> None:
    result = attempt(dag_of(lambda: [1], multiple_outputs=True), "t")
    assert result.error is not None
    assert "must return a dict with string keys; it returned list" in result.error["message"]


def test_a_second_attempt_in_the_same_process_starts_afresh() -> None:
    class Counting(BaseOperator):
        template_fields = ("name",)
        name = "{{ try_number }}"

        def execute(self, context: Any) -> str:
            self.seen = getattr(self, "seen", 0) + 1
            return f"{self.name} {self.seen}"

    with DAG("d") as dag:
        Counting(task_id="t")
    assert returned(attempt(dag, "t")) == "1 1"
    assert returned(attempt(dag, "t", try_number=2)) == "2 1"


def test_the_environment_names_the_attempt_while_it_runs_and_not_after() -> None:
    result = attempt(dag_of(lambda: {k: v for k, v in os.environ.items() if k.startswith("TREADLE_CTX_")}), "t")
    assert returned(result) == {
        "TREADLE_CTX_DAG_ID": "d",
        "TREADLE_CTX_DAG_OWNER": "treadle",
        "TREADLE_CTX_TASK_ID": "t",
        "TREADLE_CTX_DAG_RUN_ID": "manual__1",
        "TREADLE_CTX_LOGICAL_DATE": "2024-03-10T01:02:03+00:00",
        "TREADLE_CTX_TRY_NUMBER": "1",
        "TREADLE_CTX_MAP_INDEX": "-1",
    }
    assert not any(name.startswith("TREADLE_CTX_") for name in os.environ)


def test_a_plain_task_asks_its_supervisor_nothing() -> None:
    answers = Answers()
    logging.getLogger("treadle.task").setLevel(logging.NOTSET)
    attempt(dag_of(lambda: 1), "t", answers)
    assert answers.asked == []
    assert answers.asked_previous == 0
