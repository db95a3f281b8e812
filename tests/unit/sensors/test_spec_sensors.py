"""The sensors of the specification (sections 7 and 13), as they stand there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.runtime.attempts import workload

from treadle import DAG, BaseSensor, BaseSensorOperator
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.run_task import Limits, run_attempt
from treadle.sensors import ExternalTaskSensor
from treadle.triggers import BaseTrigger
from treadle.xcom import dumps

STORED: set[tuple[str, str]] = set()


class S3KeySensor(BaseSensor):
    template_fields = ("key",)

    def __init__(self, bucket: str, key: str, poke_interval: float = 60, timeout: float = 3600, **kwargs: Any) -> None:
        super().__init__(poke_interval=poke_interval, timeout=timeout, **kwargs)
        self.bucket = bucket
        self.key = key

    def poke(self, context: Any) -> bool:  # noqa: ARG002
        return (self.bucket, self.key) in STORED


class S3KeyTrigger(BaseTrigger):
    def __init__(self, bucket: str, key: str) -> None:
        self.bucket, self.key = bucket, key

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "company.triggers.S3KeyTrigger", {"bucket": self.bucket, "key": self.key}


class S3KeySensorAsync(BaseSensorOperator):
    def execute(self, context: Any) -> Any:  # noqa: ARG002
        self.defer(trigger=S3KeyTrigger("data-lake", "orders"), method_name="execute_complete")

    def execute_complete(self, context: Any, event: Any) -> None:  # noqa: ARG002
        if event["status"] == "success":
            return
        raise RuntimeError(f"Trigger failed: {event}")


def attempted(dag: DAG, task_id: str, **changes: Any) -> Any:
    return run_attempt(dag, task_id, workload(**changes), LocalSupervisor({}, {}), Limits())


def test_a_sensor_of_ones_own_waits_in_each_mode() -> None:
    with DAG("d") as dag:
        S3KeySensor(
            task_id="wait_for_file",
            bucket="data-lake",
            key="orders/{{ ds }}/part-0000.parquet",
            mode="reschedule",
            poke_interval=300,
        )
    assert attempted(dag, "wait_for_file").outcome == "suspended"
    STORED.add(("data-lake", "orders/2024-03-10/part-0000.parquet"))
    assert attempted(dag, "wait_for_file").outcome == "success"


@pytest.mark.parametrize(("status", "outcome"), [("success", "success"), ("failure", "failed")])
def test_a_sensor_that_defers_by_itself_goes_on_with_its_event(status: str, outcome: str) -> None:
    with DAG("d") as dag:
        S3KeySensorAsync(task_id="wait_for_file")
    deferred = attempted(dag, "wait_for_file")
    assert (deferred.outcome, deferred.deferral["next_method"]) == ("deferred", "execute_complete")
    resume = {"method": "execute_complete", "kwargs": dumps({})[0], "first_started_at": None}
    assert attempted(dag, "wait_for_file", resume=resume | {"event": dumps({"status": status})[0]}).outcome == outcome


def test_the_external_task_sensor_of_section_7_is_taken_as_it_is() -> None:
    with DAG("quality"):
        sensor = ExternalTaskSensor(
            task_id="wait_for_etl",
            external_dag_id="daily_etl_pipeline",
            external_task_id="load",
            execution_date_fn=lambda dt: dt,
            timeout=3600,
            poke_interval=60,
        )
    assert (sensor.timeout, sensor.poke_interval) == (timedelta(hours=1), timedelta(minutes=1))
