"""Which try an instance is in: the same number for lists, pages and logs, while it runs and while it waits to go on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.queries.task_instances import InstanceFilter, get_instance, get_try, is_over, list_instances
from treadle_metadata.queries.ui import grid
from treadle_metadata.queries.ui import instances as of_pages
from treadle_metadata.settings import Settings

ASKED = {"outcome": "suspended", "resume": {"at": "2040-01-01T00:00:00+00:00"}}
FAILED = {"outcome": "failed"}
HANDED_BACK = {"outcome": "handed_back"}


def scheduled_after(
    database: Database, settings: Settings, clock: ManualClock, *outcomes: dict[str, Any]
) -> dict[str, Any]:
    """Run a task whose attempts end so, and stop when it is to be handed over again; return it."""
    scheduler = TestScheduler(database, settings, clock)
    left = [*outcomes]

    def outcome(_: Any) -> dict[str, Any]:
        ended = left.pop(0)
        with database.begin() as connection:
            slots = 1 if left else 0
            connection.exec_driver_sql("UPDATE slot_pool SET slots = %(slots)s", {"slots": slots})
        at = (clock.now() + timedelta(minutes=1)).isoformat()
        return {**ended, "resume": {"at": at, "name": "", "inputs": ""}} if "resume" in ended else ended

    scheduler.executor.outcome = outcome
    scheduler.install(a_dag("d", TaskDocument("t", retries=2)))
    run_id = scheduler.trigger("d")
    for _ in outcomes:
        scheduler.beats()
        clock.advance(timedelta(minutes=10))
    scheduler.beats()
    with database.begin() as connection:
        return get_instance(connection, "d", run_id, "t")


@pytest.mark.parametrize(
    ("outcomes", "number", "goes_on"),
    [
        ((ASKED,), 1, True),
        ((FAILED, ASKED), 2, True),
        ((ASKED, FAILED), 1, False),
        ((FAILED, HANDED_BACK), 2, True),
        ((FAILED, FAILED), 2, False),
    ],
)
def test_a_try_that_goes_on_keeps_its_number_while_it_waits_for_its_turn(
    database: Database,
    settings: Settings,
    clock: ManualClock,
    outcomes: tuple[dict[str, Any], ...],
    number: int,
    goes_on: bool,
) -> None:
    instance = scheduled_after(database, settings, clock, *outcomes)
    assert (instance["state"], instance["try_number"]) == ("scheduled", number)
    with database.begin() as connection:
        assert is_over(instance, get_try(connection, instance, number)) is not goes_on
        for asked in (number - 1, number, number + 1):
            wanted = InstanceFilter(dag_id="d", run_id=instance["run_id"], try_numbers=[asked])
            found = list_instances(connection, wanted, PageRequest(order_by=("try_number",))).rows
            assert [row["try_number"] for row in found] == [number] * (asked == number)
        run = {"id": instance["dag_run_id"], "month": instance["month"]}
        assert [row["try_number"] for row in of_pages.list_instances(connection, run, "t", PageRequest()).rows] == [
            number
        ]
        place = (instance["dag_run_id"], instance["month"])
        assert grid.cells(connection, place)["t"].tries == number
        assert grid.states(connection, [place])[place[0]]["t"].tries == number
