"""Three schedulers at once keep every limit exactly: counted in the recorded history of moves."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from tests.support.crowds import Crowd
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.waiting import wait_until

from treadle.document import ExpandArgument, ExpandDocument, TaskDocument
from treadle_metadata.clock import ManualClock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_metadata.transitions import recording

ACTIVE = ("queued", "running", "restarting")


def most_at_once(database: Database, key: Any) -> Counter[Any]:
    """Return, for each ``key(move)``, the most instances that were active at once (moves are in order of commit)."""
    with database.begin() as connection:
        moves = rows(
            connection,
            """
            SELECT move.old_state, move.new_state, instance.task_id, instance.dag_run_id, instance.pool,
                   instance.pool_slots
            FROM state_transition AS move JOIN task_instance AS instance ON instance.id = move.entity_id
            WHERE move.entity = 'task_instance' ORDER BY move.id
            """,
        )
    active: Counter[Any] = Counter()
    most: Counter[Any] = Counter()
    for move in moves:
        one, weight = key(move)
        active[one] += weight * ((move["new_state"] in ACTIVE) - (move["old_state"] in ACTIVE))
        most[one] = max(most[one], active[one])
    return most


def test_caps_inside_one_expansion_pools_and_parallelism_are_kept_by_three_schedulers(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Cases A22 and A24: 20 items, at most 2 in each of 4 runs, 5 in all; tasks of 3 slots in a pool of 7."""
    clock.set(SystemClock().now())
    settings = replace(settings, heartbeat_seconds=0.05, parallelism=9)
    with database.begin() as connection:
        recording.set_recording(connection, on=True)
        execute(connection, "INSERT INTO slot_pool (name, slots) VALUES ('seven', 7)")
    scheduler = TestScheduler(database, settings, clock)
    twenty = ExpandDocument("product", (ExpandArgument("x", length=20),))
    each = TaskDocument("each", expand=twenty, max_active_tis_per_dag=5, max_active_tis_per_dagrun=2)
    wide = [TaskDocument(f"wide{n}", pool="seven", pool_slots=3) for n in range(8)]
    scheduler.install(a_dag("d", each, *wide, max_active_tasks=4))
    for _ in range(4):
        scheduler.trigger("d")
    with Crowd(settings, 3):
        wait_until(lambda: set(scheduler.run_states("d").values()) == {"success"}, timeout=30)
    in_runs = most_at_once(database, lambda move: ((move["task_id"], move["dag_run_id"]), 1))
    assert max(most for (task, _), most in in_runs.items() if task == "each") == 2
    assert most_at_once(database, lambda move: (move["task_id"], 1))["each"] <= 5
    assert max(most_at_once(database, lambda move: (move["dag_run_id"], 1)).values()) <= 4
    assert most_at_once(database, lambda move: (move["pool"], move["pool_slots"]))["seven"] <= 7
    assert most_at_once(database, lambda _: ("all", 1))["all"] <= 9


def test_runs_that_wait_for_the_past_keep_their_order_and_limit_with_three_schedulers(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    clock.set(SystemClock().now())
    settings = replace(settings, heartbeat_seconds=0.05)
    with database.begin() as connection:
        recording.set_recording(connection, on=True)
    scheduler = TestScheduler(database, settings, clock)
    tasks = [TaskDocument("a", depends_on_past=True), TaskDocument("b", upstream=("a",), wait_for_downstream=True)]
    scheduler.install(a_dag("d", *tasks, max_active_runs=2))
    base = clock.now().replace(hour=0, minute=0)
    days = list(range(12))
    for day in reversed(days):
        scheduler.trigger("d", logical_date=base.replace(day=1 + day))
    with Crowd(settings, 3) as crowd:
        wait_until(lambda: set(scheduler.run_states("d").values()) == {"success"}, timeout=30)
    taken = [one["task_instance_id"] for executor in crowd.executors for one in executor.taken]
    assert len(taken) == len(set(taken)) == 24
    with database.begin() as connection:
        found = rows(
            connection, "SELECT old_state, new_state FROM state_transition WHERE entity = 'dag_run' ORDER BY id"
        )
        ended = rows(connection, "SELECT logical_date FROM dag_run ORDER BY ended_at, logical_date")
    running, most = 0, 0
    for move in found:
        running += (move["new_state"] == "running") - (move["old_state"] == "running")
        most = max(most, running)
    assert most <= 2
    dates = [row["logical_date"] for row in ended]
    assert dates == sorted(dates)
