"""Triggerers that claim at the same moment: each trigger has one owner (case D4)."""

from __future__ import annotations

import threading
from dataclasses import replace

from tests.support.deferring import KEY, HandTriggerer, deferring, triggers_of
from tests.support.scheduling import TestScheduler, a_dag

from treadle.document import TaskDocument
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings

TRIGGERS = 200


def test_triggerers_that_claim_in_the_same_moment_share_what_there_is_and_none_runs_twice(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    large = replace(settings, fernet_key=KEY, parallelism=TRIGGERS)
    scheduler = TestScheduler(database, large, clock, deferring())
    tasks = [TaskDocument(f"t{number}", "Operator") for number in range(TRIGGERS)]
    scheduler.install(a_dag("d", *tasks, max_active_tasks=TRIGGERS))
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE slot_pool SET slots = 1000")
    triggerers = [HandTriggerer(database, clock, pid=pid) for pid in range(1, 4)]
    for one in triggerers:
        assert one.beat() == []
    scheduler.trigger("d")
    scheduler.beats()
    together = threading.Barrier(len(triggerers))

    def claim(one: HandTriggerer) -> None:
        for _ in range(3):
            together.wait(10)
            one.beat()

    threads = [threading.Thread(target=claim, args=(one,)) for one in triggerers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    held = [sorted(one.held) for one in triggerers]
    assert sorted(trigger for ids in held for trigger in ids) == [row["id"] for row in triggers_of(database)]
    owners = {row["id"]: row["owner"] for row in triggers_of(database)}
    assert all(owners[trigger] == one.known for one in triggerers for trigger in one.held)
    assert len(owners) == TRIGGERS
    assert sum(bool(ids) for ids in held) > 1, "one of them has taken all"
