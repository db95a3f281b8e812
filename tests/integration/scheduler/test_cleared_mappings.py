"""A run that has a mapped task and starts over, because something in it was cleared: its instances are those it had."""

from __future__ import annotations

import pytest
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import ExpandArgument, ExpandDocument, TaskDocument
from treadle_metadata import clearing
from treadle_metadata.clearing import Selection
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

ENDED = {"mapped[0]": "success", "mapped[1]": "success", "mapped[2]": "success", "other": "success"}


@pytest.mark.parametrize("cleared", ["mapped", "other"])
def test_clearing_in_a_run_with_a_mapped_task_makes_no_second_placeholder(
    database: Database, settings: Settings, clock: ManualClock, cleared: str
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    expand = ExpandDocument("product", (ExpandArgument("x", length=3),))
    scheduler.install(a_dag("again", TaskDocument("mapped", expand=expand), TaskDocument("other")))
    run = scheduler.trigger("again")
    scheduler.beats()
    assert scheduler.task_states(run) == ENDED
    with database.begin() as connection:
        clearing.clear(connection, Selection(dag_id="again", run_id=run, task_ids=(cleared,)), now=clock.now())
    scheduler.beats()
    assert scheduler.task_states(run) == ENDED
    assert set(scheduler.run_states("again").values()) == {"success"}
