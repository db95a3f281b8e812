"""What a sensor makes of the states of another DAG's runs, against an obvious oracle."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.runtime.attempts import workload

from treadle import DAG, DagError
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.run_task import Limits, run_attempt
from treadle.sensors import ExternalTaskSensor
from treadle.sensors.external_task import TASK_STATES

DATE = "2024-03-10T01:02:03+00:00"


class Elsewhere(LocalSupervisor):
    """Another DAG's runs, by logical date, and what was asked."""

    def __init__(self, runs: Mapping[str, tuple[str, dict[str, dict[str, int]]]], missing: list[str]) -> None:
        super().__init__({}, {})
        self.runs, self.missing = runs, missing
        self.asked: list[dict[str, Any]] = []

    def get_states(self, question: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(dict(question))
        there = [(date, *self.runs[date]) for date in question["logical_dates"] if date in self.runs]
        runs = [{"logical_date": at, "run_id": at, "state": state, "tasks": tasks} for at, state, tasks in there]
        return {"runs": runs, "missing": self.missing if question["check"] else []}


def outcome(
    runs: Mapping[str, tuple[str, dict[str, dict[str, int]]]], missing: list[str] | None = None, **arguments: Any
) -> tuple[str, Elsewhere]:
    supervisor = Elsewhere(runs, missing or [])
    with DAG("d") as dag:
        ExternalTaskSensor(task_id="look", external_dag_id="other", mode="reschedule", **arguments)
    found = run_attempt(dag, "look", workload(logical_date=DATE), supervisor, Limits())
    return found.outcome if found.error is None else found.error["message"], supervisor


states = st.dictionaries(st.sampled_from(TASK_STATES), st.integers(1, 3), max_size=3)


@given(
    st.dictionaries(st.sampled_from(["a", "b"]), states, min_size=2, max_size=2),
    st.sets(st.sampled_from(TASK_STATES), min_size=1),
    st.sets(st.sampled_from(TASK_STATES)),
    st.sets(st.sampled_from(TASK_STATES)),
)
def test_all_instances_must_be_allowed_and_one_that_failed_or_was_skipped_decides(
    tasks: dict[str, dict[str, int]], allowed: set[str], failed: set[str], skipped: set[str]
) -> None:
    failed, skipped = failed - allowed, skipped - allowed - failed
    found, _ = outcome(
        {DATE: ("running", tasks)},
        external_task_ids=["a", "b"],
        allowed_states=allowed,
        failed_states=failed,
        skipped_states=skipped,
    )
    instances = [state for counts in tasks.values() for state in counts]
    if failed.isdisjoint(instances) and skipped.isdisjoint(instances):
        done = all(tasks.values()) and allowed.issuperset(instances)
        assert found == ("success" if done else "suspended")
    elif failed.isdisjoint(instances):
        assert found == "skipped"
    else:
        assert found == "skipped" or found.startswith("other: ")


def test_a_run_is_waited_for_where_no_task_is_named() -> None:
    assert outcome({DATE: ("running", {})})[0] == "suspended"
    assert outcome({DATE: ("success", {})})[0] == "success"
    assert outcome({DATE: ("failed", {})}, failed_states=["failed"])[0] == f"other: the run of run {DATE} is failed"
    assert outcome({DATE: ("failed", {})}, failed_states=["failed"], soft_fail=True)[0] == "skipped"


def test_dates_come_from_a_delta_or_a_function_and_all_must_be_there() -> None:
    hour: dict[str, tuple[str, dict[str, dict[str, int]]]] = {"2024-03-10T00:02:03+00:00": ("success", {})}
    assert outcome(hour, execution_delta=timedelta(hours=1))[0] == "success"
    assert outcome(hour, execution_date_fn=lambda date: date - timedelta(hours=1))[0] == "success"
    assert (
        outcome(hour, execution_date_fn=lambda date, ds: [date, date - timedelta(hours=len(ds) - 9)])[0] == "suspended"
    )
    both = hour | {DATE: ("success", {})}
    assert outcome(both, execution_date_fn=lambda date: [date, date - timedelta(hours=1)])[0] == "success"


def test_what_does_not_exist_fails_at_once_if_that_is_to_be_checked() -> None:
    found, supervisor = outcome({}, ["task 'x' of DAG 'other'"], external_task_id="x", check_existence=True)
    assert found == "there is no task 'x' of DAG 'other'"
    assert supervisor.asked[0]["task_ids"] == ["x"]
    assert outcome({}, ["task 'x' of DAG 'other'"], external_task_id="x")[0] == "suspended"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"external_task_id": "a", "external_task_ids": ["b"]}, "one of external_task_id"),
        ({"execution_delta": timedelta(1), "execution_date_fn": lambda date: date}, "not both"),
        ({"external_task_id": "a", "failed_states": ["faild"]}, "did you mean 'failed'"),
        ({"allowed_states": ["skipped"]}, "states such as queued, running, success, failed"),
        ({"failed_states": ["success"]}, "each state in one of"),
    ],
)
def test_arguments_that_exclude_each_other_are_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(DagError, match=said), DAG("d"):
        ExternalTaskSensor(task_id="look", external_dag_id="other", **arguments)


def test_a_run_without_a_date_says_what_is_lacking() -> None:
    with DAG("d") as dag:
        ExternalTaskSensor(task_id="look", external_dag_id="other")
    found = run_attempt(dag, "look", workload(logical_date=None), Elsewhere({}, []), Limits())
    assert found.error is not None
    assert "has no logical date" in found.error["message"]
    assert datetime.fromisoformat(DATE)
