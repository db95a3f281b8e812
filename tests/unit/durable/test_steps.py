"""Steps within one process: what makes two calls the same step, which failures are tried again, what is replayed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import pytest

from treadle import (
    DAG,
    RateLimitedError,
    StepError,
    TransientError,
    step,
    task,
)
from treadle.durable.plan import code_version
from treadle.durable.retrying import StepRetries
from treadle.errors import InvalidArgumentError, NotInTaskError, XComTypeError
from treadle.steps import inputs_of


def run(body: Callable[[], Any], retries: int = 0) -> Any:
    """Run ``body`` as the only task of a DAG; return the result of the test."""
    with DAG("one", default_args={"retries": retries}) as dag:
        task(task_id="only")(body)()
    return dag.test()


def test_a_retry_replays_what_was_recorded_and_goes_on_where_it_failed() -> None:
    called: list[str] = []

    def noted(name: str) -> tuple[int, set[str]]:
        called.append(name)
        return 1, {"two"}

    def body() -> list[Any]:
        first = step.run("first", noted, "first")
        if len(called) == 1:
            called.append("failed")
            raise RuntimeError("later")
        return [first, step.run("second", called.append, "second")]

    result = run(body, retries=1)
    assert result.state == "success"
    assert called == ["first", "failed", "second"]
    assert result.tasks[0].value == [(1, {"two"}), None]


def test_the_same_name_and_inputs_are_the_same_step_however_they_are_given() -> None:
    called: list[tuple[Any, ...]] = []

    @task.step
    def pay(order: str, amount: int = 5) -> str:
        called.append((order, amount))
        return step.idempotency_key

    def body() -> list[str]:
        return [pay("a"), pay("a", 5), pay(amount=5, order="a"), pay("a", 6), pay("b")]

    keys = run(body).tasks[0].value
    assert called == [("a", 5), ("a", 6), ("b", 5)]
    assert keys[0] == keys[1] == keys[2]
    assert len(set(keys)) == 3


def test_a_block_is_told_whether_it_is_recorded_and_a_forgotten_record_is_none() -> None:
    seen: list[Any] = []

    def body() -> None:
        with step("charge", 1) as charge:
            if not charge.recorded:
                assert charge.idempotency_key == step.idempotency_key
                charge.record({"id": 1})
                with pytest.raises(StepError, match="recorded already"):
                    charge.record(2)
            seen.append(charge.value)
        with step("note") as note:
            seen.append(note.recorded)
        if len(seen) == 2:
            raise RuntimeError("once more")

    assert run(body, retries=1).state == "success"
    assert seen == [{"id": 1}, False, {"id": 1}, True]


def test_a_step_whose_block_fails_is_not_recorded() -> None:
    seen: list[bool] = []

    def body() -> None:
        with step("charge") as charge:
            seen.append(charge.recorded)
            if len(seen) == 1:
                raise RuntimeError("before it was done")

    assert run(body, retries=1).state == "success"
    assert seen == [False, False]


def test_transient_failures_are_tried_again_and_others_stand() -> None:
    failures: list[Exception] = [TransientError("a"), ConnectionError("b"), RateLimitedError(retry_after=0.0)]

    @task.step(retry_delay=0)
    def flaky() -> int:
        if failures:
            raise failures.pop()
        return 1

    @task.step(retry_delay=0)
    def broken() -> None:
        calls.append(1)
        raise ValueError("no")

    calls: list[int] = []
    assert run(flaky).state == "success"
    result = run(broken)
    assert (result.state, len(calls), result.tasks[0].message) == ("failed", 1, "no")


def test_a_step_fails_when_its_tries_are_used_up_and_retry_on_says_what_counts() -> None:
    calls: list[int] = []

    @task.step(retries=2, retry_delay=0, retry_on=(KeyError,))
    def flaky(error: str) -> None:
        calls.append(1)
        raise KeyError(error) if error == "key" else TransientError(error)

    assert run(lambda: flaky("key")).state == "failed"
    assert len(calls) == 3
    assert run(lambda: flaky("transient")).state == "failed"
    assert len(calls) == 4


@pytest.mark.parametrize(("failed", "expected"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (50, 5.0)])
def test_waits_grow_up_to_a_limit_and_a_longer_wish_of_the_other_side_counts(failed: int, expected: float) -> None:
    policy = StepRetries(retry_delay=1, backoff=2, max_delay=5)
    assert policy.delay(failed, TransientError("x")) == expected
    assert policy.delay(failed, RateLimitedError(retry_after=30)) == 30
    assert policy.delay(failed, RateLimitedError(retry_after=0.5)) == expected


@pytest.mark.parametrize("wrong", [{"retries": -1}, {"retry_delay": -1}, {"backoff": 0.5}, {"max_delay": float("nan")}])
def test_a_policy_that_cannot_be_is_refused_where_it_is_written(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
        task.step(**wrong)(version_of)


def test_outside_a_task_a_step_is_the_plain_function_and_the_rest_says_where_it_belongs() -> None:
    @task.step
    def double(number: int) -> int:
        return 2 * number

    assert double(4) == 8
    for act in (
        lambda: step.idempotency_key,
        lambda: methodcaller("sleep", "x", 1)(step),
        lambda: step.awakeable("x", 1),
    ):
        with pytest.raises(NotInTaskError):
            act()
    with pytest.raises(NotInTaskError), step("x"):
        pass


def test_inputs_and_values_that_cannot_be_written_down_are_refused_with_their_path() -> None:
    with pytest.raises(XComTypeError, match="inputs of a step"):
        inputs_of([{"lock": threading.Lock()}])
    result = run(lambda: step.run("value", threading.Lock))
    assert "value of step value" in result.tasks[0].message


def test_names_are_checked() -> None:
    for name in ("", "x" * 251, "a\0b"):
        with pytest.raises(StepError, match="cannot be named"):
            step(name)


def test_a_sleep_is_over_at_once_in_a_test_and_an_awakeable_says_that_nobody_can_post_it() -> None:
    assert run(lambda: methodcaller("sleep", "night", 3600)(step)).state == "success"
    result = run(lambda: step.awakeable("approval", 60).wait())
    assert "nobody can post its token" in result.tasks[0].message


def version_of(text: str) -> str:
    """The version of the code of the DAG file's task ``go``."""
    names: dict[str, Any] = {"__name__": "dag_file"}
    exec(compile("from treadle import DAG, task, step\n" + text, "file.py", "exec"), names)
    return code_version(names["dag"].get_task("go"))


FILE = """
LIMIT = 5
def helper(x):
    return x + 1
@task.step
def pay(x):
    return {body}
def unrelated():
    return {other}
with DAG("d") as dag:
    @task
    def go(order="a"):
        # {comment}
        return [pay(n) for n in range(LIMIT) if helper(n) in {{"a", "b", "c"}}]
    go()
"""


def test_the_version_of_the_code_tells_changes_of_steps_from_changes_beside_them() -> None:
    def made(body: str = "helper(x) * 2", other: str = "1", comment: str = "") -> str:
        return version_of(FILE.format(body=body, other=other, comment=comment))

    assert made() == made(other="2", comment="said differently\n\n")
    assert made() != made(body="helper(x) * 3")
    assert version_of(FILE.format(body="x", other="1", comment="").replace("x + 1", "x + 2")) != made(body="x")
