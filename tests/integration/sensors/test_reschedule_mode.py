"""Sensors through a scheduler with real task processes: what waits holds nothing, and the time is kept."""

from __future__ import annotations

from dataclasses import replace

from tests.support.waiting import wait_until
from tests.support.working import Working, working

from treadle.document import DagDocument, TaskDocument
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

SENSOR = """
from pathlib import Path
from treadle import DAG, PokeReturnValue, task

HOME = Path({home!r})

with DAG("one"):
    @task.sensor({arguments})
    def look():
        with (HOME / "pokes").open("a") as file:
            file.write("x")
        return PokeReturnValue((HOME / "go").exists(), "found it")
    look()
"""


def started(one: Working, settings: Settings, arguments: str, retries: int = 0) -> None:
    """Install and trigger the DAG ``one`` with one sensor."""
    document = DagDocument("one", tasks=(TaskDocument("look", operator="DecoratedSensorOperator", retries=retries),))
    one.install(document, SENSOR.format(home=str(settings.home), arguments=arguments))
    one.trigger("one")


def state(one: Working) -> str:
    found = one.select("SELECT state FROM task_instance")
    return str(found[0]["state"]) if found else ""


def test_a_sensor_that_looks_often_leaves_one_attempt_and_the_number_of_its_pokes(
    own_database: Database, settings: Settings
) -> None:
    quick = replace(settings, database_url=own_database.url, heartbeat_seconds=0.2)
    with working(own_database, quick) as one:
        started(one, settings, 'mode="reschedule", poke_interval=0.01')
        wait_until(lambda: (settings.home / "pokes").exists() and (settings.home / "pokes").stat().st_size >= 4, 30)
        (settings.home / "go").touch()
        wait_until(one.is_over, 30)
        pokes = (settings.home / "pokes").stat().st_size
        assert (state(one), pokes >= 5) == ("success", True)
        attempts = one.select("SELECT outcome, try_number FROM task_attempt ORDER BY queued_at")
        assert attempts == [{"outcome": "suspended", "try_number": 1}, {"outcome": "success", "try_number": 1}]
        assert one.select("SELECT pokes FROM sensor_wait") == [{"pokes": pokes - 1}]


def test_a_rescheduled_sensor_holds_no_slot_costs_no_try_and_hands_its_xcom_on(
    own_database: Database, settings: Settings
) -> None:
    quick = replace(settings, database_url=own_database.url, heartbeat_seconds=0.2)
    with working(own_database, quick) as one:
        started(one, settings, 'mode="reschedule", poke_interval=3600')
        wait_until(lambda: state(one) == "up_for_reschedule", 30)
        (row,) = one.select("SELECT try_number, attempt_id FROM task_instance")
        assert (row["try_number"], row["attempt_id"]) == (0, None)
        (wait,) = one.select("SELECT mode, pokes, gives_up_at - began_at AS time FROM sensor_wait")
        assert (wait["mode"], wait["pokes"], wait["time"].days) == ("reschedule", 1, 7)
        (settings.home / "go").touch()
        with own_database.begin() as connection:
            connection.exec_driver_sql("UPDATE task_instance SET next_retry_at = now()")
            connection.exec_driver_sql("UPDATE run_wakeup SET due_at = now()")
        one.loop.wake()
        wait_until(one.is_over, 30)
        assert (state(one), (settings.home / "pokes").read_text()) == ("success", "xx")
        assert one.select("SELECT value FROM xcom WHERE key = 'return_value'") == [{"value": '"found it"'}]
        assert [row["try_number"] for row in one.select("SELECT try_number FROM task_attempt")] == [1, 1]
