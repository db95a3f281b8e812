"""Human steps in ``dag.test()`` and in a worker's attempt: what is asked, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.runtime.attempts import workload

from treadle import (
    DAG,
    ApprovalOperator,
    DagError,
    EmptyOperator,
    HITLBranchOperator,
    HITLEntryOperator,
    HITLOperator,
    Param,
    chain,
)
from treadle.runtime.dag_test_result import DagTestResult
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.run_task import Limits, run_attempt
from treadle.serialization import document_of


def asked(make: Callable[[], Any], **given: Any) -> DagTestResult:
    """A DAG in which ``a`` and ``b`` wait for what asks, and ``end`` for both."""
    with DAG("d") as dag:
        a, b = EmptyOperator(task_id="a"), EmptyOperator(task_id="b")
        chain(make(), [a, b], EmptyOperator(task_id="end", trigger_rule="none_failed_min_one_success"))
    return dag.test(**given)


def choosing(**arguments: Any) -> Callable[[], HITLOperator]:
    return lambda: HITLOperator(task_id="ask", subject="Which?", options=["one", "two"], **arguments)


def test_an_answer_of_the_test_is_the_result_and_says_who_gave_it() -> None:
    found = asked(choosing(params={"days": Param(3, type="integer")}), answers={"ask": "two"})
    answer = found.xcoms["ask"]
    assert (answer["chosen_options"], answer["params_input"], answer["timedout"]) == (["two"], {"days": 3}, False)
    assert answer["responded_by_user"] == {"id": "test", "name": "test"}
    given = asked(
        choosing(params={"days": 3}, multiple=True), answers={"ask": {"chosen": ["one", "two"], "given": {"days": 5}}}
    )
    assert given.xcoms["ask"]["chosen_options"] == ["one", "two"]
    assert given.xcoms["ask"]["params_input"] == {"days": 5}
    assert asked(choosing(), answers={"Which?": "one"}).xcoms["ask"]["chosen_options"] == ["one"]


def test_without_an_answer_the_defaults_are_it_and_without_these_the_task_says_what_to_give() -> None:
    found = asked(choosing(defaults="one"))
    assert (found.xcoms["ask"]["chosen_options"], found.xcoms["ask"]["timedout"]) == (["one"], True)
    assert "give dag.test(answers=" in asked(choosing()).task("ask").message
    assert "did you mean 'one'" in asked(choosing(), answers={"ask": "ones"}).task("ask").message


@pytest.mark.parametrize(
    ("arguments", "answer", "states"),
    [
        ({}, "Approve", {"ask": "success", "a": "success", "b": "success", "end": "success"}),
        ({}, "Reject", {"ask": "success", "a": "skipped", "b": "skipped", "end": "skipped"}),
        ({"ignore_downstream_trigger_rules": True}, "Reject",
         {"ask": "success", "a": "skipped", "b": "skipped", "end": "skipped"}),
        ({"fail_on_reject": True, "retries": 3}, "Reject",
         {"ask": "failed", "a": "upstream_failed", "b": "upstream_failed", "end": "upstream_failed"}),
    ],
)  # fmt: skip
def test_a_rejection_skips_what_is_after_it_or_fails_without_a_retry(
    arguments: dict[str, Any], answer: str, states: dict[str, str]
) -> None:
    found = asked(lambda: ApprovalOperator(task_id="ask", subject="Go?", **arguments), answers={"ask": answer})
    assert found.states == states
    assert found.task("ask").tries == 1


def test_people_choose_the_branch_by_id_or_by_a_name_for_it() -> None:
    def ask(**arguments: Any) -> Callable[[], Any]:
        return lambda: HITLBranchOperator(task_id="ask", subject="Where?", **arguments)

    named = asked(ask(options=["a", "b"]), answers={"ask": "b"}).states
    assert (named["a"], named["b"], named["end"]) == ("skipped", "success", "success")
    mapped = ask(options=["left", "right"], options_mapping={"left": "a", "right": "b"})
    assert asked(mapped, answers={"ask": "left"}).states["b"] == "skipped"
    wrong = asked(ask(options=["c"]), answers={"ask": "c"})
    assert (wrong.states["ask"], "chose 'c'" in wrong.task("ask").message) == ("failed", True)


def test_an_entry_takes_values_and_has_one_option() -> None:
    def ask() -> Any:
        return HITLEntryOperator(task_id="ask", subject="How many?", params={"number": Param(type="integer")})

    found = asked(ask, answers={"ask": {"chosen": "OK", "given": {"number": 4}}})
    assert found.xcoms["ask"]["params_input"] == {"number": 4}


class Asking(LocalSupervisor):
    """A server that says that nobody has answered yet."""

    def __init__(self, is_new: bool, due_at: str | None = None, state: str = "waiting") -> None:
        super().__init__({}, {})
        self.told = {"is_new": is_new, "state": state, "due_at": due_at}
        self.questions: list[Any] = []

    def ask_human(self, of: str, question: Any) -> dict[str, Any]:
        self.questions.append((of, question))
        return self.told


def attempted(supervisor: Asking, **arguments: Any) -> Any:
    with DAG("d") as dag:
        HITLOperator(task_id="ask", subject="Release {{ ds }}?", options=["yes"], **arguments)
    return run_attempt(dag, "ask", workload(), supervisor, Limits())


def test_an_attempt_asks_tells_people_once_and_ends_until_the_answer() -> None:
    told: list[str] = []
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    def tell(context: Any) -> None:
        told.append(context["ti"].task_id)

    def broken(context: Any) -> None:
        raise ValueError(context["run_id"])

    for is_new in (True, False):
        supervisor = Asking(is_new, later)
        found = attempted(supervisor, notifiers=[broken, tell], assigned_users=["ann", {"id": "7", "name": "bob"}])
        assert (found.outcome, found.resume) == ("suspended", {"at": later, "name": "an answer", "inputs": ""})
    assert told == ["ask"]
    of, question = supervisor.questions[0]
    assert (of, question["subject"]) == ("ask[-1]", "Release 2024-03-10?")
    assert question["assignees"] == [{"id": "ann", "name": "ann"}, {"id": "7", "name": "bob"}]
    assert question["seconds"] is None


def test_the_time_for_an_answer_is_its_own_or_the_execution_timeout() -> None:
    for arguments, seconds in (
        ({"response_timeout": timedelta(minutes=2)}, 120.0),
        ({"execution_timeout": 60}, 60.0),
        ({"response_timeout": 5, "execution_timeout": 60}, 5.0),
    ):
        supervisor = Asking(True)
        assert attempted(supervisor, **arguments).outcome == "suspended"
        assert supervisor.questions[0][1]["seconds"] == seconds
    over = attempted(Asking(False, "2026-01-01T00:00:00+00:00", "timed_out"))
    assert (over.outcome, over.error["type"]) == ("failed", "HumanStepTimeout")


@pytest.mark.parametrize(
    ("kind", "arguments", "said"),
    [
        (HITLOperator, {"options": []}, "not empty"),
        (HITLOperator, {"options": ["a", "a"]}, "each option once"),
        (HITLOperator, {"options": ["yes"], "defaults": "yess"}, "did you mean 'yes'"),
        (HITLOperator, {"options": ["a", "b"], "defaults": ["a", "b"]}, "several with multiple=True"),
        (HITLOperator, {"options": ["a"], "response_timeout": -1}, "not negative"),
        (ApprovalOperator, {"options": ["a"]}, "two options"),
        (HITLBranchOperator, {"options": ["left"], "options_mapping": {"lft": "a"}}, "did you mean 'left'"),
        (HITLEntryOperator, {}, "something to fill in"),
    ],
)
def test_questions_that_nobody_could_answer_are_refused(kind: type, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(DagError, match=said), DAG("d"):
        kind(task_id="ask", subject="Go?", **arguments)


def test_the_document_says_that_an_approval_may_skip() -> None:
    with DAG("d") as dag:
        ApprovalOperator(task_id="ask", subject="Go?")
        HITLOperator(task_id="other", subject="Go?", options=["a"])
    assert {task.task_id: task.can_skip for task in document_of(dag).tasks} == {"ask": True, "other": False}
