"""Branches, short circuits, conditions and "latest only" in ``dag.test()`` and in a worker's attempt."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.runtime.attempts import attempt

from treadle import (
    DAG,
    BaseBranchOperator,
    BranchPythonOperator,
    DagError,
    EmptyOperator,
    LatestOnlyOperator,
    ShortCircuitOperator,
    SkipTask,
    TaskGroup,
    chain,
    task,
)
from treadle.document import SKIPPED_TASKS
from treadle.serialization import document_of
from treadle.xcom import loads


def empty(name: str, rule: str = "all_success") -> EmptyOperator:
    return EmptyOperator(task_id=name, trigger_rule=rule)


def forked(choose: Callable[[], Any]) -> DAG:
    """``fork`` before a, b and c; d after a and b; ``join`` after all of them."""
    with DAG("d") as dag:
        fork = BranchPythonOperator(task_id="fork", python_callable=choose)
        a, b, c, d = map(empty, "abcd")
        fork >> [a, b, c]
        [a, b] >> d
        fork >> d
        [d, c] >> empty("join", "none_failed_min_one_success")
    return dag


@pytest.mark.parametrize(
    ("choice", "ran"),
    [
        ("a", {"a", "d", "join"}),
        (["a", "c"], {"a", "c", "d", "join"}),
        (("c",), {"c", "join"}),
        ({"b"}, {"b", "d", "join"}),
        ("d", {"d", "join"}),
        (None, set()),
        ([], set()),
    ],
)
def test_a_branch_skips_what_it_does_not_choose_and_what_comes_after_a_choice_follows_its_rule(
    choice: Any, ran: set[str]
) -> None:
    dag = forked(lambda: choice)
    dag.task_dict["d"].trigger_rule = "none_failed"  # type: ignore[assignment]
    states = dag.test().states
    # d waits for fork directly: it runs if it or something before it was chosen.
    assert {name for name, state in states.items() if state == "success"} - {"fork"} == ran
    assert set(states.values()) <= {"success", "skipped"}


def test_the_attempt_names_the_tasks_to_skip_and_its_choice() -> None:
    result = attempt(forked(lambda: "a"), "fork")
    pushed = {one["key"]: loads(one["value"]) for one in result.xcoms}
    assert pushed == {SKIPPED_TASKS: ["b", "c"], "return_value": "a"}


def test_a_skip_that_was_named_reaches_a_task_whatever_its_trigger_rule() -> None:
    with DAG("d") as dag:
        fork = BranchPythonOperator(task_id="fork", python_callable=lambda: "a")
        fork >> [empty("a"), empty("b", "always"), empty("c", "all_done")]
    result = dag.test()
    assert result.states == {"fork": "success", "a": "success", "b": "skipped", "c": "skipped"}
    assert result.task("b").message == "left out by 'fork'"
    assert result.task("fork").xcoms == {"return_value": "a"}


def test_a_groups_id_stands_for_its_first_tasks() -> None:
    with DAG("d") as dag:

        @task.branch
        def fork() -> str:
            return "g"

        with TaskGroup("g") as group:
            empty("first") >> empty("second")
            empty("other")
        chosen = fork()
        chosen >> group
        chosen >> empty("left")
    assert dag.test().states == {
        "fork": "success",
        "g.first": "success",
        "g.other": "success",
        "g.second": "success",
        "left": "skipped",
    }


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("aa", "branch 'fork' chose 'aa'; expected the full id of a task or group; did you mean 'a'?"),
        (3, "branch 'fork' chose 3 (int); expected a task id, a list or None"),
        (["a", 3], "expected a task id, a list or None"),
    ],
)
def test_a_choice_that_is_not_there_fails_and_says_so(choice: Any, message: str) -> None:
    result = forked(lambda: choice).test()
    assert result.state == "failed"
    assert result.task("fork").message.endswith(message)


def test_a_branch_class_of_ones_own_and_nested_branches() -> None:
    class ByConf(BaseBranchOperator):
        def choose_branch(self, context: Any) -> Any:
            return context["dag_run"].conf["way"]

    with DAG("d") as dag:
        outer = ByConf(task_id="outer")
        inner = BranchPythonOperator(task_id="inner", python_callable=lambda: "x")
        outer >> [inner, empty("z")]
        inner >> [empty("x"), empty("y")]
        [dag.task_dict[one] for one in "xyz"] >> empty("join", "none_failed_min_one_success")
    states = dag.test(run_conf={"way": "inner"}).states
    assert (states["x"], states["y"], states["z"], states["join"]) == ("success", "skipped", "skipped", "success")
    states = dag.test(run_conf={"way": "z"}).states
    assert states == {"outer": "success", "inner": "skipped", "x": "skipped", "y": "skipped", "z": "success"} | {
        "join": "success"
    }


def test_any_instance_of_a_mapped_branch_can_skip_a_task() -> None:
    with DAG("d") as dag:

        @task.branch
        def fork(way: str) -> str:
            return way

        fork.expand(way=["a", "b"]) >> [empty("a"), empty("b"), empty("c")]
    states = dag.test().states
    assert (states["a"], states["b"], states["c"]) == ("skipped", "skipped", "skipped")


@pytest.mark.parametrize("ignore", [True, False])
def test_a_short_circuit_skips_all_that_follows_or_only_the_next_tasks(ignore: bool) -> None:
    with DAG("d") as dag:
        stop = ShortCircuitOperator(task_id="stop", python_callable=lambda: 0, ignore_downstream_trigger_rules=ignore)
        chain(stop, empty("next", "always"), empty("last", "all_done"))
        stop >> empty("down").as_teardown()
    states = dag.test().states
    assert states == {
        "stop": "success",
        "next": "skipped",
        "last": "skipped" if ignore else "success",
        "down": "success",
    }


def test_a_short_circuit_lets_pass_what_is_true_and_hands_it_on() -> None:
    with DAG("d") as dag:

        @task.short_circuit(ignore_downstream_trigger_rules=False)
        def there() -> str:
            return "rows"

        there() >> empty("next")
    result = dag.test()
    assert result.states == {"there": "success", "next": "success"}
    assert result.xcoms["there"] == "rows"


def test_documents_tell_which_tasks_may_skip() -> None:
    with DAG("d") as dag:

        @task.branch
        def fork(way: Any = None) -> Any:
            return way

        fork()
        fork.override(task_id="many").expand(way=[1])
        LatestOnlyOperator(task_id="latest")
        empty("plain")
    assert {one.task_id: one.can_skip for one in document_of(dag).tasks} == {
        "fork": True,
        "many": True,
        "latest": True,
        "plain": False,
    }


def test_run_if_and_skip_if_ask_before_the_task_runs() -> None:
    seen: list[str] = []

    with DAG("d") as dag:

        @task.run_if(lambda context: context["params"]["go"])
        @task(pre_execute=lambda _: seen.append("hook"))
        def run(x: int = 0) -> int:
            return x

        @task.skip_if(lambda context: (not context["params"]["go"], "no wish to"), "unused")
        @task.run_if(lambda _: True)
        @task
        def skip() -> str:
            return "ran"

        run(5)
        run.override(task_id="many").expand(x=[1, 2])
        skip()
    dag.params["go"] = True
    assert set(dag.test().states.values()) == {"success"}
    assert seen == ["hook"] * 3
    dag.params["go"] = False
    assert set(dag.test().states.values()) == {"skipped"}
    assert seen == ["hook"] * 3


def test_conditions_stand_above_task_and_are_functions() -> None:
    with pytest.raises(DagError, match=r"@task\.run_if stands above @task; it cannot decorate function"):
        task.run_if(lambda _: True)(lambda: None)  # type: ignore[arg-type]
    with pytest.raises(DagError, match=r"@task\.skip_if takes a function of the context, not bool"):
        task.skip_if(True)  # type: ignore[arg-type]


def latest_only(**facts: Any) -> list[str] | None:
    """Run the operator in a scheduled run of a daily DAG; return what it skips."""
    with DAG("d", schedule="@daily", start_date=datetime(2024, 1, 1, tzinfo=UTC)) as dag:
        LatestOnlyOperator(task_id="latest") >> [empty("a"), empty("b", "always")]
    result = attempt(dag, "latest", **facts)
    assert result.outcome == "success", result.error
    return next((loads(one["value"]) for one in result.xcoms if one["key"] == SKIPPED_TASKS), None)


def test_latest_only_skips_in_runs_that_a_newer_one_has_overtaken() -> None:
    def scheduled(day: datetime) -> dict[str, Any]:
        keys = ("logical_date", "data_interval_start", "data_interval_end", "run_after")
        return {"run_type": "scheduled", **dict.fromkeys(keys, day.isoformat())}

    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    assert latest_only(**scheduled(today)) == []
    assert latest_only(**scheduled(today - timedelta(days=2))) == ["a", "b"]
    assert latest_only(**{**scheduled(today - timedelta(days=2)), "run_type": "manual"}) == []
    assert latest_only(**{**scheduled(today), "run_type": "asset_triggered", "logical_date": None}) == []


def test_user_code_cannot_push_what_treadle_keeps_for_itself() -> None:
    with DAG("d") as dag:

        @task(multiple_outputs=True)
        def push() -> dict[str, Any]:
            return {SKIPPED_TASKS: ["x"]}

        push()
    error = attempt(dag, "push").error
    assert error is not None
    assert error["message"] == (
        "XCom 'treadle.skipped_tasks' cannot be pushed: keys that begin with 'treadle.' are Treadle's own"
    )


def test_a_skipped_branch_skips_nothing_by_itself() -> None:
    with DAG("d") as dag:

        @task.branch
        def fork() -> str:
            raise SkipTask

        fork() >> [empty("a"), empty("b", "all_done")]
    assert dag.test().states == {"fork": "skipped", "a": "skipped", "b": "success"}
