"""Workloads that no host may see."""

from __future__ import annotations

from typing import Any

import pytest

from treadle_executors.conformance import make_workload
from treadle_worker.workloads import problem_of


def test_a_complete_workload_has_no_problem() -> None:
    assert problem_of(make_workload("quick")) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"file": "../outside.py"}, "file leaves its folder"),
        ({"file": "/etc/passwd"}, "file leaves its folder"),
        ({"log_path": "a/../../b"}, "log_path leaves its folder"),
        ({"log_path": "a\0b"}, "log_path leaves its folder"),
        ({"attempt_id": ""}, "attempt_id"),
        ({"month": "soon"}, "no usable month: expected a date such as 2026-03-01, found 'soon'"),
        ({"task_instance_id": "7"}, "task_instance_id"),
        ({"run": None}, "run"),
        ({"execution_timeout_seconds": -1}, "execution_timeout_seconds"),
    ],
)
def test_an_unusable_workload_names_what_is_wrong(changes: dict[str, Any], said: str) -> None:
    problem = problem_of(make_workload("quick", **changes))
    assert problem is not None
    assert said in problem
