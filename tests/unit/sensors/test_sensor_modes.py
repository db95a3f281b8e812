"""What becomes of a sensor's attempt, by its mode and by what its poke does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.unit.runtime.attempts import returned, workload

from treadle import DAG, BaseSensor, DagError, FailTask, PokeReturnValue, RescheduleTask, SkipTask, task
from treadle.errors_of_waits import AN_ANSWER, TaskSuspended
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.run_task import Limits, run_attempt
from treadle.runtime.supervisor import AttemptResult
from treadle.sensors import FileSensor, PythonSensor, poke_mode_only
from treadle.serialization import document_of


class Remembering(LocalSupervisor):
    """Keeps a wait as a server does, whose clock is ``ahead``, and says that ``waited`` seconds have passed."""

    def __init__(self, waited: float = 0.0, ahead: timedelta = timedelta(0)) -> None:
        super().__init__({}, {})
        self.waited = waited
        self.ahead = ahead
        self.noted: list[dict[str, Any]] = []

    def note_wait(self, of: str, wait: Any) -> dict[str, Any]:  # noqa: ARG002
        self.noted.append(dict(wait))
        return {"waited": self.waited, "pokes": len(self.noted), "at": (datetime.now(UTC) + self.ahead).isoformat()}


def looking(results: list[Any], **arguments: Any) -> DAG:
    """A DAG whose sensor takes one of ``results`` after the other: returned, or raised."""
    left: Iterator[Any] = iter(results)

    def look() -> Any:
        found = next(left)
        if isinstance(found, BaseException):
            raise found
        return found

    with DAG("d") as dag:
        PythonSensor(task_id="look", python_callable=look, **{"poke_interval": 0, **arguments})
    return dag


def attempted(dag: DAG, supervisor: LocalSupervisor | None = None, **changes: Any) -> AttemptResult:
    return run_attempt(dag, "look", workload(**changes), supervisor or Remembering(), Limits())


def test_in_mode_poke_it_looks_until_the_condition_is_true_and_notes_its_wait_once() -> None:
    supervisor = Remembering()
    found = attempted(looking([False, 0, None, PokeReturnValue(True, {"at": 7})]), supervisor)
    assert returned(found) == {"at": 7}
    assert supervisor.noted == [{"mode": "poke", "timeout": 7 * 86400.0, "first_try": 1}]


def test_a_condition_that_is_true_at_once_costs_no_question() -> None:
    supervisor = Remembering()
    assert attempted(looking([True]), supervisor).outcome == "success"
    assert supervisor.noted == []


def test_in_mode_reschedule_the_attempt_ends_until_the_next_poke() -> None:
    found = attempted(looking([False], mode="reschedule", poke_interval=timedelta(minutes=5)))
    assert (found.outcome, found.xcoms, found.called_back) == ("suspended", [], False)
    assert found.resume is not None
    pause = datetime.fromisoformat(found.resume["at"]) - datetime.now(UTC)
    assert timedelta(minutes=4) < pause <= timedelta(minutes=5)


def test_the_next_poke_is_told_by_the_servers_clock() -> None:
    dag = looking([False], mode="reschedule", poke_interval=60)
    found = attempted(dag, Remembering(ahead=timedelta(hours=2)))
    assert found.resume is not None
    pause = datetime.fromisoformat(found.resume["at"]) - datetime.now(UTC)
    assert timedelta(hours=2) < pause <= timedelta(hours=2, minutes=1)


def test_the_last_poke_is_at_the_timeout_and_then_it_fails_without_a_retry() -> None:
    dag = looking([False], mode="reschedule", poke_interval=300, timeout=100)
    found = attempted(dag, Remembering(waited=90))
    assert found.resume is not None
    assert datetime.fromisoformat(found.resume["at"]) - datetime.now(UTC) < timedelta(seconds=11)
    over = attempted(looking([False], timeout=100, retries=3), Remembering(waited=100), max_tries=3)
    assert over.outcome == "failed_without_retry"
    assert over.error is not None
    assert (over.error["type"], "in 100 s (it was looked at once)" in over.error["message"]) == ("SensorTimeout", True)


@pytest.mark.parametrize(
    ("arguments", "results", "waited", "outcome"),
    [
        ({"soft_fail": True, "timeout": 1}, [False], 1, "skipped"),
        ({"soft_fail": True}, [FailTask("no")], 0, "skipped"),
        ({"soft_fail": True}, [ValueError("down")], 0, "failed"),
        ({"never_fail": True, "timeout": 1}, [False], 1, "skipped"),
        ({"never_fail": True}, [ValueError("down")], 0, "skipped"),
        ({"silent_fail": True}, [ValueError("down"), True], 0, "success"),
        ({"silent_fail": True}, [FailTask("no")], 0, "failed_without_retry"),
        ({}, [SkipTask("no")], 0, "skipped"),
        ({}, [ValueError("down")], 0, "failed"),
        ({"execution_timeout": 0.05, "poke_interval": 60, "soft_fail": True}, [False], 0, "skipped"),
        ({"execution_timeout": 0.05, "poke_interval": 60}, [False], 0, "failed"),
    ],
)
def test_failures_are_hard_soft_silent_or_never(
    arguments: dict[str, Any], results: list[Any], waited: float, outcome: str
) -> None:
    assert attempted(looking(results, **arguments), Remembering(waited)).outcome == outcome


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"mode": "pokes"}, "one of poke, reschedule, deferrable"),
        ({"mode": "deferrable"}, "no trigger"),
        ({"deferrable": True}, "no trigger"),
        ({"timeout": -1}, "not negative"),
        ({"poke_interval": None}, "a number of seconds"),
        ({"soft_fail": True, "never_fail": True}, "not both"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_with_their_place(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(DagError, match=said) as refused:
        looking([], **arguments)
    assert f"{__file__}, line" in str(refused.value)


def test_a_sensor_that_keeps_something_from_poke_to_poke_takes_no_other_mode() -> None:
    @poke_mode_only
    class Counting(PythonSensor):
        pass

    with DAG("d"):
        Counting(task_id="look", python_callable=bool)
        with pytest.raises(DagError, match="keeps something from poke to poke"):
            Counting(task_id="other", python_callable=bool, mode="reschedule")
        PythonSensor(task_id="free", python_callable=bool, mode="reschedule")


def test_task_sensor_makes_a_sensor_of_a_function_and_takes_its_arguments() -> None:
    with DAG("d") as dag:

        @task.sensor(poke_interval=5, mode="reschedule", timeout=60)
        def look(day: str, ds: str) -> bool:
            return day == ds

        look("2024-03-10")
    sensor = dag.get_task("look")
    assert isinstance(sensor, BaseSensor)
    assert (sensor.poke_interval, sensor.mode) == (timedelta(seconds=5), "reschedule")
    assert document_of(dag).tasks[0].operator == "@task.sensor"
    assert attempted(dag).outcome == "success"
    assert attempted(dag, logical_date="2024-03-11T00:00:00+00:00").outcome == "suspended"


def test_a_task_may_reschedule_itself() -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    with DAG("d") as dag:

        @task
        def look() -> None:
            try:
                raise RescheduleTask(later)
            except Exception:
                sys.exit("swallowed")

        look()
    found = attempted(dag)
    assert (found.outcome, found.resume and found.resume["at"]) == ("suspended", later.isoformat())
    with pytest.raises(TypeError, match="time zone"):
        RescheduleTask(datetime(2024, 1, 1))  # noqa: DTZ001


def test_dag_test_pokes_in_place_of_rescheduling_and_waits_for_tasks_that_reschedule_themselves() -> None:
    tried: list[int] = []
    dag = looking([False, False, True], mode="reschedule", poke_interval=0.001)
    with dag:

        @task
        def again() -> int:
            tried.append(1)
            if len(tried) < 3:
                raise RescheduleTask(datetime.now(UTC))
            return len(tried)

        again()
    result = dag.test()
    result.raise_if_failed()
    assert result.xcoms["again"] == 3


def test_a_file_is_found_by_name_by_pattern_and_in_a_connections_folder(tmp_path: Any) -> None:
    (tmp_path / "in").mkdir()

    def found(path: str, **connections: Any) -> bool:
        with DAG("d") as dag:
            FileSensor(task_id="look", filepath=path, timeout=0, soft_fail=True, recursive=True)
        result = dag.test(connections=connections)
        return result.state == "success" and result.tasks[0].state == "success"

    assert not found(str(tmp_path / "in"))
    assert not found(str(tmp_path / "in" / "*.csv"))
    (tmp_path / "in" / "a.csv").touch()
    assert found(str(tmp_path / "in"))
    assert found(str(tmp_path / "**" / "*.csv"))
    assert found("in/a.csv", fs_default={"conn_type": "fs", "extra": {"path": str(tmp_path)}})


def test_a_wait_without_a_limit_names_no_moment() -> None:
    suspended = TaskSuspended(datetime(2126, 1, 1, tzinfo=UTC), AN_ANSWER, has_limit=False)
    assert str(suspended) == "it goes on with an answer"
