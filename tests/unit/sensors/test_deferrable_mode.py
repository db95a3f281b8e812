"""Sensors whose wait the triggerer takes over: what they defer with, and what they make of the event."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from tests.unit.runtime.attempts import workload

from treadle import DAG, BaseSensor, DagError, xcom
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.run_task import Limits, run_attempt
from treadle.runtime.supervisor import AttemptResult
from treadle.sensors import (
    DateTimeSensor,
    ExternalTaskSensor,
    FileSensor,
    HttpSensor,
    SqlSensor,
    TimeDeltaSensor,
    TimeSensor,
    WaitSensor,
)

NEVER = datetime(2999, 1, 1, tzinfo=UTC)
SIX = datetime(2998, 1, 1, 6, tzinfo=UTC)
DB = {"db": {"conn_type": "sqlite"}}


def attempted(kind: type[BaseSensor], resume: dict[str, Any] | None = None, **arguments: Any) -> AttemptResult:
    with DAG("d") as dag:
        kind(task_id="look", mode="deferrable", **{"timeout": 100, **arguments})
    given = {} if resume is None else {"resume": resume}
    supervisor = LocalSupervisor({}, DB)
    return run_attempt(dag, "look", workload(run_after="2998-01-01T00:00:00+00:00", **given), supervisor, Limits())


@pytest.mark.parametrize(
    ("kind", "arguments", "trigger", "given"),
    [
        (DateTimeSensor, {"target_time": NEVER}, "temporal.DateTimeTrigger", {"moment": NEVER}),
        (TimeSensor, {"target_time": time(6)}, "temporal.DateTimeTrigger", {"moment": SIX}),
        (TimeDeltaSensor, {"delta": timedelta(days=400_000)}, "temporal.DateTimeTrigger", {}),
        (WaitSensor, {"time_to_wait": 50}, "temporal.DateTimeTrigger", {}),
        (FileSensor, {"filepath": "/none/such"}, "file.FileTrigger", {"filepath": "/none/such", "poke_interval": 60.0}),
        (SqlSensor, {"conn_id": "db", "sql": "SELECT 0"}, "sql.SqlTrigger", {"conn_id": "db", "sql": "SELECT 0"}),
        (ExternalTaskSensor, {"external_dag_id": "e", "external_task_id": "t", "failed_states": ["failed"]},
         "external.WorkflowTrigger", {"external_task_ids": ["t"], "failed_states": ["failed"]}),
    ],
)  # fmt: skip
def test_a_sensor_that_looks_in_vain_defers_for_what_is_left_of_its_time(
    kind: type[BaseSensor], arguments: dict[str, Any], trigger: str, given: dict[str, Any]
) -> None:
    found = attempted(kind, **arguments)
    assert found.outcome == "deferred", found.error
    assert found.deferral is not None
    assert (found.deferral["classpath"], found.deferral["next_method"]) == (
        f"treadle.triggers.{trigger}",
        "execute_complete",
    )
    assert 95 < found.deferral["timeout_seconds"] <= 100
    assert xcom.loads(found.deferral["kwargs"]).items() >= given.items()


def test_a_condition_that_is_true_at_once_is_not_deferred() -> None:
    assert attempted(DateTimeSensor, target_time="2024-01-01").outcome == "success"


def resumed(event: Any = None, error: dict[str, Any] | None = None) -> dict[str, Any]:
    plain = {"method": "execute_complete", "kwargs": xcom.dumps({})[0], "first_started_at": None}
    return plain | ({"event": xcom.dumps(event)[0]} if error is None else {"error": error})


@pytest.mark.parametrize(
    ("resume", "arguments", "outcome"),
    [
        (resumed({"status": "success", "states": {}}), {}, "success"),
        (resumed({"status": "failed", "states": {"failed": 1}}), {}, "failed"),
        (resumed({"status": "failed", "states": {"failed": 1}}), {"soft_fail": True}, "skipped"),
        (resumed({"status": "skipped", "states": {"skipped": 2}}), {}, "skipped"),
        (resumed(error={"kind": "timeout", "error": "no event"}), {}, "failed_without_retry"),
        (resumed(error={"kind": "timeout", "error": "no event"}), {"soft_fail": True}, "skipped"),
        (resumed(error={"kind": "exception", "error": "boom"}), {}, "failed"),
        (resumed(error={"kind": "exception", "error": "boom"}), {"never_fail": True}, "skipped"),
    ],
)
def test_the_event_or_its_lack_ends_the_wait_as_a_poke_would(
    resume: dict[str, Any], arguments: dict[str, Any], outcome: str
) -> None:
    assert attempted(ExternalTaskSensor, resume, external_dag_id="e", **arguments).outcome == outcome


def test_what_only_a_worker_can_heed_is_refused() -> None:
    for arguments in ({"success": bool}, {"failure": bool}, {"selector": len}, {"fail_on_empty": True}):
        with pytest.raises(DagError, match="the triggerer waits and cannot heed it"):
            attempted(SqlSensor, conn_id="db", sql="SELECT 1", **arguments)
    with pytest.raises(DagError, match="response_check="):
        attempted(HttpSensor, endpoint="x", response_check=bool)
