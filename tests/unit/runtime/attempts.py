"""What the tests of the task runtime share: a workload, and a supervisor that answers from dicts and counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from treadle import xcom
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.run_task import Limits, run_attempt
from treadle.runtime.supervisor import AttemptResult, Supervisor, XComFound, XComQuestion


class Answers:
    """A supervisor over dicts; ``asked`` lists the batches of questions that came."""

    def __init__(self, xcoms: dict[Any, Any] | None = None, **resources: Any) -> None:
        self.xcoms = xcoms or {}
        self.variables: dict[str, str] = resources.get("variables", {})
        self.connections: dict[str, dict[str, Any]] = resources.get("connections", {})
        self.previous: dict[str, str | None] = resources.get("previous", {})
        self.asked: list[list[XComQuestion]] = []
        self.asked_previous = 0
        self.asked_callbacks = 0
        self.may_call_back = True

    def get_xcoms(self, questions: Sequence[XComQuestion]) -> list[list[XComFound]]:
        self.asked.append(list(questions))
        return [self._found(one) for one in questions]

    def _found(self, question: XComQuestion) -> list[XComFound]:
        value = self.xcoms.get((question.task_id, question.key), self.xcoms.get(question.task_id))
        if value is None:
            return []
        return self.filled(question.task_id, value, question.key).get_xcoms([question])[0]

    @staticmethod
    def filled(task_id: str, value: Any, key: str = "return_value") -> LocalSupervisor:
        """A supervisor that holds one result, or those of all instances of a mapped task."""
        stored = LocalSupervisor({}, {})
        if isinstance(value, dict) and all(isinstance(index, int) for index in value):
            stored.ran(task_id, len(value))
        else:
            value = {-1: value}
        for index, one in value.items():
            stored.keep(task_id, index, [{"key": key, "value": xcom.dumps(one)[0]}])
        return stored

    def get_variable(self, key: str) -> str | None:
        return self.variables.get(key)

    def set_variable(self, key: str, value: str, description: str | None) -> None:  # noqa: ARG002
        self.variables[key] = value

    def delete_variable(self, key: str) -> None:
        self.variables.pop(key, None)

    def get_connection(self, conn_id: str) -> dict[str, Any] | None:
        return self.connections.get(conn_id)

    def take_callbacks(self) -> bool:
        self.asked_callbacks += 1
        return self.may_call_back

    def get_previous_success(self) -> dict[str, str | None]:
        self.asked_previous += 1
        return self.previous


def workload(**changes: Any) -> dict[str, Any]:
    """A first try of a run for 2024-03-10; keywords change the workload, or its run if they are facts of a run."""
    run = {
        "run_id": "manual__1",
        "run_type": "manual",
        "logical_date": "2024-03-10T01:02:03+00:00",
        "data_interval_start": "2024-03-09T00:00:00+00:00",
        "data_interval_end": "2024-03-10T00:00:00+00:00",
        "run_after": "2024-03-10T00:00:00+00:00",
        "start_date": "2024-03-10T00:00:05+00:00",
        "conf": {},
        "triggered_by": "api",
        "clear_number": 0,
    }
    run.update({name: changes.pop(name) for name in list(changes) if name in run})
    facts = {
        "attempt_id": "0190",
        "map_index": -1,
        "try_number": 1,
        "max_tries": 0,
        "queue": "default",
        "pool": "default_pool",
        "run": run,
    }
    return {**facts, **changes}


def attempt(
    dag: Any, task_id: str, answers: Answers | None = None, limits: Limits | None = None, **changes: Any
) -> AttemptResult:
    """Run one attempt as a worker child does."""
    return run_attempt(dag, task_id, workload(**changes), cast("Supervisor", answers or Answers()), limits or Limits())


def returned(result: AttemptResult) -> Any:
    """What a successful attempt returned."""
    assert result.outcome == "success", result.error
    return next((xcom.loads(one["value"]) for one in result.xcoms if one["key"] == "return_value"), None)
