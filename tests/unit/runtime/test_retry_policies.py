"""Retry policies: rules by exception, one's own, what becomes of them in an attempt and in ``dag.test()``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.runtime.attempts import attempt

from treadle import (
    DAG,
    ExceptionRetryPolicy,
    FailTask,
    PythonOperator,
    RetryAction,
    RetryDecision,
    RetryPolicy,
    RetryRule,
)


class Throttled(ConnectionError):
    """A service says: later."""


RULES = [
    RetryRule(Throttled, retry_delay=timedelta(minutes=5), reason="the service throttles"),
    RetryRule(PermissionError, action=RetryAction.FAIL, reason="no retry makes a key valid"),
    RetryRule("builtins.ConnectionError", action="retry", match_subclasses=False),
]


def dag_raising(error: BaseException, policy: Any, **arguments: Any) -> DAG:
    def raises() -> None:
        raise error

    with DAG("d") as dag:
        PythonOperator(task_id="t", python_callable=raises, retries=2, retry_policy=policy, **arguments)
    return dag


@pytest.mark.parametrize(
    ("error", "action", "delay"),
    [
        (Throttled(), "retry", timedelta(minutes=5)),
        (ConnectionError(), "retry", None),
        (ConnectionResetError(), "default", None),
        (PermissionError(), "fail", None),
        (ValueError(), "default", None),
    ],
)
def test_the_first_rule_that_matches_decides(error: Exception, action: str, delay: timedelta | None) -> None:
    decision = ExceptionRetryPolicy(RULES).evaluate(error, 1, 2, {})
    assert (decision.action, decision.retry_delay) == (action, delay)


def test_rules_name_classes_without_importing_them() -> None:
    rule = RetryRule("json.decoder.JSONDecodeError", action=RetryAction.FAIL)
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("{")
    assert rule.matches(caught.value)
    assert not rule.matches(ValueError())
    assert RetryRule("ValueError").matches(caught.value), "a base class of what was raised"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"exception": 5}, "neither an exception class nor its full name"),
        ({"exception": int}, "neither an exception class"),
        ({"exception": ValueError, "action": "again"}, "one of retry, fail, default"),
        ({"exception": ValueError, "retry_delay": -1}, "a timedelta or seconds"),
        ({"exception": ValueError, "retry_delay": "5 min"}, "a timedelta or seconds"),
    ],
)
def test_a_bad_rule_is_refused_when_the_file_is_parsed(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RetryRule(**arguments)


def test_a_policy_that_is_none_is_refused_when_the_file_is_parsed() -> None:
    with pytest.raises(ValueError, match="retry_policy"):
        dag_raising(ValueError(), RetryRule(ValueError))


def test_an_attempt_that_the_policy_fails_is_not_tried_again_and_tells_why() -> None:
    called: list[str] = []
    callbacks = {f"on_{name}_callback": lambda _, name=name: called.append(name) for name in ("retry", "failure")}
    dag = dag_raising(PermissionError("401"), ExceptionRetryPolicy(RULES), **callbacks)
    result = attempt(dag, "t", max_tries=2)
    assert result.outcome == "failed_without_retry"
    assert result.error is not None
    assert result.error["retry_reason"] == "no retry makes a key valid"
    assert called == ["failure"]


def test_an_attempt_that_the_policy_retries_carries_the_delay() -> None:
    result = attempt(dag_raising(Throttled(), ExceptionRetryPolicy(RULES)), "t", max_tries=2)
    assert (result.outcome, result.retry_delay_seconds) == ("failed", 300.0)
    assert result.error is not None
    assert (result.error["retry_action"], result.error["retry_reason"]) == ("retry", "the service throttles")


def test_a_policy_adds_no_try_and_is_not_asked_where_none_is_left() -> None:
    class Asked(RetryPolicy):
        times = 0

        def evaluate(self, *_: Any) -> RetryDecision:
            self.times += 1
            return RetryDecision.retry(timedelta(0))

    policy = Asked()
    assert attempt(dag_raising(ValueError(), policy), "t", try_number=3, max_tries=2).retry_delay_seconds is None
    assert attempt(dag_raising(FailTask(), policy), "t", max_tries=2).outcome == "failed_without_retry"
    assert policy.times == 0


def test_one_s_own_policy_sees_the_exception_the_tries_and_the_context() -> None:
    class Own(RetryPolicy):
        def evaluate(
            self, exception: BaseException, try_number: int, max_tries: int, context: Mapping[str, Any]
        ) -> RetryDecision:
            return RetryDecision.fail(f"{exception} {try_number}/{max_tries} {context['ti'].task_id} {context['ds']}")

    result = attempt(dag_raising(ValueError("boom"), Own()), "t", try_number=2, max_tries=2)
    assert result.error is not None
    assert result.error["retry_reason"] == "boom 2/2 t 2024-03-10"


@pytest.mark.parametrize("answer", [ZeroDivisionError(), "retry", RetryDecision(RetryAction.RETRY, 5)])  # type: ignore[arg-type]
def test_a_policy_that_fails_or_answers_nonsense_leaves_the_task_s_own_retries(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Bad(RetryPolicy):
        def evaluate(self, *_: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    result = attempt(dag_raising(ValueError("boom"), Bad()), "t", max_tries=2)
    assert (result.outcome, result.retry_delay_seconds) == ("failed", None)
    assert "The retry policy failed" in caplog.text


def test_mapped_instances_have_the_policy_too() -> None:
    def raises(number: int) -> None:
        raise PermissionError(number)

    with DAG("d") as dag:
        partial = PythonOperator.partial(
            task_id="t", python_callable=raises, retries=2, retry_policy=ExceptionRetryPolicy(RULES)
        )
        partial.expand(op_kwargs=[{"number": 1}])
    assert attempt(dag, "t", map_index=0, expand_index=[0], max_tries=2).outcome == "failed_without_retry"


def test_a_dag_test_asks_the_policy() -> None:
    result = dag_raising(PermissionError(), ExceptionRetryPolicy(RULES)).test().task("t")
    assert (result.state, result.tries) == ("failed", 1)
    result = dag_raising(Throttled(), ExceptionRetryPolicy(RULES)).test().task("t")
    assert (result.state, result.tries) == ("failed", 3)
