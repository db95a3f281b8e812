"""Callbacks in a process of their own: what they find in their context, and what becomes of what they do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from tests.unit.runtime.attempts import Answers, attempt, workload

from treadle import (
    DAG,
    AsyncCallback,
    BaseNotifier,
    DeadlineAlert,
    DeadlineReference,
    EmptyOperator,
    PythonOperator,
    SyncCallback,
    TaskTimeout,
)
from treadle.errors import AttemptLost
from treadle.runtime.run_callback import run_callback
from treadle.runtime.run_task import Limits
from treadle.runtime.supervisor import AttemptResult, Supervisor

FACTS = {"state": "failed", "reason": "task_failure", "ended_at": "2024-03-10T02:00:00+00:00"}
DUE = {
    "id": 7,
    "alert_name": "soon",
    "deadline_time": "2024-03-10T02:00:00+00:00",
    "base_time": "2024-03-10T01:00:00+00:00",
    "reference": "dagrun_queued_at",
}


def call(
    dag: DAG, event: str, *, task_id: str = "", limit: float = 30, position: int = 0, **facts: Any
) -> AttemptResult:
    told = {"id": 1, "event": event, "position": position, "facts": {**FACTS, **facts}, "limit": limit}
    return run_callback(dag, workload(task_id=task_id, callback=told), cast("Supervisor", Answers()), Limits())


def dag_of(**arguments: Any) -> DAG:
    with DAG("d", params={"x": 5}, **arguments) as dag:
        EmptyOperator(task_id="t")
    return dag


def test_the_callback_of_a_run_finds_the_run_its_reason_and_its_last_instance() -> None:
    seen: dict[str, Any] = {}

    def note(context: Any) -> None:
        seen.update(
            {name: context[name] for name in ("reason", "run_id", "ds", "params", "ti")}, run=context["dag_run"]
        )

    assert call(dag_of(on_failure_callback=note), "run_failure", task_id="t").outcome == "success"
    assert (seen["reason"], seen["run_id"], seen["ds"]) == ("task_failure", "manual__1", "2024-03-10")
    assert seen["params"] == {"x": 5}
    assert seen["run"].state == "failed"
    assert seen["run"].end_date == datetime(2024, 3, 10, 2, tzinfo=UTC)
    assert seen["ti"].task_id == "t"


def test_where_there_is_no_instance_the_context_has_nothing_of_a_task() -> None:
    seen: list[Any] = []

    def note(context: Any) -> None:
        seen.append((context["params"], "ti" in context, "task" in context, sorted(context), context.get("ti")))

    assert call(dag_of(on_success_callback=note), "run_success", state="success").outcome == "success"
    ((params, *there, names, absent),) = seen
    assert (params, there, absent) == ({"x": 5}, [False, False], None)
    assert {"dag", "dag_run", "reason", "conn", "var", "ts"} <= set(names)
    assert not {"ti", "task", "try_number"} & set(names)


@pytest.mark.parametrize(
    ("kind", "expected"), [("timeout", TaskTimeout), ("out_of_memory", AttemptLost), ("lost", AttemptLost)]
)
def test_the_callback_of_an_attempt_that_could_not_tell_finds_what_ended_it(kind: str, expected: type) -> None:
    seen: list[Any] = []
    with DAG("d") as dag:
        EmptyOperator(task_id="t", on_retry_callback=seen.append)
    error = {"kind": kind, "message": "it was killed"}
    assert call(dag, "task_retry", task_id="t", state="up_for_retry", error=error).outcome == "success"
    (context,) = seen
    assert type(context["exception"]) is expected
    assert str(context["exception"]) == "it was killed"
    assert context["ti"].state == "up_for_retry"
    assert "reason" not in context


def test_all_callbacks_of_a_list_are_called_and_the_first_error_is_told() -> None:
    called: list[str] = []

    def stop(_: Any) -> None:
        called.append("stop")
        raise SystemExit(3)

    async def waited(_: Any) -> None:
        called.append("waited")

    def broken(_: Any) -> None:
        raise ValueError("boom")

    result = call(dag_of(on_failure_callback=[stop, broken, waited]), "run_failure")
    assert called == ["stop", "waited"]
    assert result.outcome == "failed"
    assert result.error is not None
    assert result.error["type"] == "SystemExit"


def test_a_callback_that_takes_too_long_is_ended() -> None:
    def hang(_: Any) -> None:
        while True:
            pass

    result = call(dag_of(on_failure_callback=hang), "run_failure", limit=0.2)
    assert result.error is not None
    assert result.error["kind"] == "timeout"
    assert "the callback took longer than" in result.error["message"]


def late(callback: Any) -> DAG:
    return dag_of(deadline=[DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, timedelta(minutes=1), callback)])


called_with: list[Any] = []


def noted(**named: Any) -> None:
    called_with.append(named)


def without_context(a: int) -> None:
    called_with.append(a)


async def awaited(context: Any, word: str) -> None:
    called_with.append((word, context["deadline"]["deadline_time"]))


class Quiet(BaseNotifier):
    template_fields = ("text",)

    def __init__(self, text: str, **named: Any) -> None:
        super().__init__(**named)
        self.text = text

    def notify(self, context: Any) -> None:
        called_with.append((self.text, context["dag_run"].run_id))


HERE = __name__


@pytest.mark.parametrize(
    ("callback", "expected"),
    [
        (AsyncCallback(awaited, {"word": "w"}), ("w", datetime(2024, 3, 10, 2, tzinfo=UTC))),
        (AsyncCallback(f"{HERE}.awaited", {"word": "w"}), ("w", datetime(2024, 3, 10, 2, tzinfo=UTC))),
        (SyncCallback(Quiet, {"text": "{{ deadline.alert_name }}"}), ("soon", "manual__1")),
        (AsyncCallback(Quiet, {"text": "{{ deadline.alert_name }}"}), ("soon", "manual__1")),
        (AsyncCallback(f"{HERE}.Quiet", {"text": "x"}), ("x", "manual__1")),
        (SyncCallback(Quiet("{{ dag.dag_id }}")), ("d", "manual__1")),
        (AsyncCallback(Quiet("{{ dag.dag_id }}")), ("d", "manual__1")),
    ],
)
def test_a_deadline_calls_functions_and_notifiers_in_each_way(callback: Any, expected: Any) -> None:
    called_with.clear()
    result = call(late(callback), "deadline", state="running", deadline=DUE)
    assert result.outcome == "success", result.error
    assert called_with == [expected]


def test_a_function_gets_the_context_only_if_it_takes_it() -> None:
    called_with.clear()
    assert call(late(SyncCallback(noted, {"a": 1})), "deadline", deadline=DUE).outcome == "success"
    assert sorted(called_with[0]) == ["a", "context"]
    assert call(late(SyncCallback(without_context, {"a": 2})), "deadline", deadline=DUE).outcome == "success"
    assert called_with[1] == 2


@pytest.mark.parametrize("path", ["nowhere.at.all", f"{HERE}.absent"])
def test_a_path_that_leads_nowhere_is_told(path: str) -> None:
    result = call(late(SyncCallback(path)), "deadline", deadline=DUE)
    assert result.error is not None
    assert f"the callback {path!r} cannot be found" in result.error["message"]


def test_a_deadline_that_the_file_has_no_more_is_told() -> None:
    result = call(late(SyncCallback(noted)), "deadline", position=1, deadline=DUE)
    assert result.error is not None
    assert "has 1 deadlines now" in result.error["message"]


def test_an_attempt_leaves_its_callbacks_to_the_server_when_that_says_so() -> None:
    called: list[str] = []

    def fails() -> None:
        raise ValueError

    with DAG("d") as dag:
        PythonOperator(task_id="t", python_callable=fails, on_failure_callback=lambda _: called.append("x"))
        PythonOperator(task_id="quiet", python_callable=fails)
    answers = Answers()
    answers.may_call_back = False
    assert not attempt(dag, "t", answers).called_back
    assert called == []
    assert attempt(dag, "t").called_back
    assert called == ["x"]
    assert attempt(dag, "quiet", answers).called_back, "there was nothing to call"
    assert answers.asked_callbacks == 1


def test_a_dag_test_calls_the_callbacks_of_the_dag() -> None:
    seen: list[Any] = []
    dag = dag_of(on_success_callback=lambda context: seen.append((context["reason"], context["dag_run"].state)))
    dag.test()
    assert seen == [("success", "success")]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: DeadlineAlert("queued", timedelta(1), SyncCallback(print)), "reference of one's own would run in the"),  # type: ignore[arg-type]
        (lambda: DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, "1h", SyncCallback(print)), "interval='1h'"),  # type: ignore[arg-type]
        (lambda: DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, timedelta(1), print), "Async- or SyncCallback"),  # type: ignore[arg-type]
        (lambda: SyncCallback("print"), "neither callable nor the dotted path"),
        (lambda: AsyncCallback(5), "neither callable"),  # type: ignore[arg-type]
        (lambda: SyncCallback(print, [1]), "no mapping of argument names"),  # type: ignore[arg-type]
        (lambda: DeadlineReference.FIXED_DATETIME("2024"), "expected a datetime"),  # type: ignore[arg-type]
        (lambda: DeadlineReference.AVERAGE_RUNTIME(0), "a whole number above 0"),
        (lambda: DeadlineReference.AVERAGE_RUNTIME(3, 4), "more than max_runs=3"),
        (lambda: dag_of(deadline=5), "a DeadlineAlert or a list of them"),
        (lambda: dag_of(on_failure_callback="x"), "a function of one argument"),
    ],
)
def test_what_cannot_be_used_is_refused_when_the_file_is_parsed(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
