"""Clearing with the newest version of the DAG: new code, new tasks, former tasks removed; and without: nothing new."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.versions import add_version

from treadle.document import TaskDocument
from treadle_metadata import clearing, execution
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries.versions import source_of
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_worker.protocol import Workload

A, B, LONG = TaskDocument("a"), TaskDocument("b", upstream=("a",)), TaskDocument("long")
NEW_B, C = replace(B, operator="NewOperator", queue="new"), TaskDocument("c", upstream=("a",))


@pytest.fixture
def scheduler(database: Database, settings: Settings, clock: ManualClock) -> TestScheduler:
    made = TestScheduler(database, settings, clock)
    made.executor.outcome = lambda one: {"outcome": "failed" if one["task_id"] == "b" else "success"}
    return made


def holding(scheduler: TestScheduler, task_id: str) -> list[Workload]:
    """Let the executor start attempts of one task and never end them; return those it was given."""
    plain, held = scheduler.executor.queue, list[Workload]()

    def queue(workloads: Any) -> None:
        batch = list(workloads)
        mine = [one for one in batch if one["task_id"] == task_id]
        held.extend(mine)
        now = scheduler.clock.now()
        with scheduler.database.begin() as connection:
            starts = [
                {
                    "attempt_id": one["attempt_id"],
                    "task_instance_id": one["task_instance_id"],
                    "month": one["month"],
                    "hostname": "h",
                    "started_at": now.isoformat(),
                }
                for one in mine
            ]
            execution.record_starts(connection, starts, now=now, lease_until=now + timedelta(hours=1))
        plain([one for one in batch if one["task_id"] != task_id])

    scheduler.executor.queue = queue  # type: ignore[method-assign]
    return held


def deploy(scheduler: TestScheduler, *tasks: TaskDocument, **changes: Any) -> None:
    with scheduler.database.begin() as connection:
        add_version(connection, a_dag("d", *tasks, **changes), now=scheduler.clock.now(), code=f"# {tasks}")


def clear(scheduler: TestScheduler, *, default: bool = False, **wanted: Any) -> clearing.Plan:
    """Clear, after checking that the preview says the same."""
    latest = wanted.pop("latest", None)
    selection = clearing.Selection(dag_id="d", **wanted)
    with scheduler.database.begin() as connection:
        shown = clearing.clear(
            connection, selection, latest=latest, default=default, dry_run=True, now=scheduler.clock.now()
        )
    with scheduler.database.begin() as connection:
        done = clearing.clear(connection, selection, latest=latest, default=default, now=scheduler.clock.now())
    assert done.changes == shown.changes
    return done


def tries(scheduler: TestScheduler, task_id: str) -> list[tuple[int, int]]:
    """Return (try, number of the DAG version) of each attempt of a task."""
    with scheduler.database.begin() as connection:
        found = rows(
            connection,
            """
            SELECT attempt.try_number, version.number
            FROM task_attempt AS attempt JOIN task_instance AS instance ON instance.id = attempt.task_instance_id
            JOIN dag_version AS version ON version.id = attempt.version_id
            WHERE instance.task_id = %(task_id)s ORDER BY 1
            """,
            {"task_id": task_id},
        )
    return [(one["try_number"], one["number"]) for one in found]


def instance(scheduler: TestScheduler, task_id: str) -> Mapping[str, Any]:
    with scheduler.database.begin() as connection:
        sql = "SELECT * FROM task_instance WHERE task_id = %(task_id)s"
        return rows(connection, sql, {"task_id": task_id})[0]


@pytest.mark.parametrize("is_running", [False, True])
def test_clearing_with_the_latest_version_runs_its_code_and_its_new_tasks(
    scheduler: TestScheduler, is_running: bool
) -> None:
    scheduler.install(a_dag("d", A, B, *([LONG] if is_running else [])))
    run_id = scheduler.trigger("d")
    if is_running:
        holding(scheduler, "long")
    scheduler.beats()
    assert scheduler.run_states("d") == {run_id: "running" if is_running else "failed"}
    deploy(scheduler, A, NEW_B, C, *([LONG] if is_running else []))
    scheduler.executor.outcome = lambda _: {"outcome": "success"}
    changed = clear(scheduler, latest=True, run_id=run_id, task_ids=("b",))
    assert [(one["task_id"], one["action"]) for one in changed.changes] == [("b", "clear"), ("c", "add")]
    scheduler.beats()
    states = scheduler.task_states(run_id)
    assert {task: states[task] for task in "abc"} == {"a": "success", "b": "success", "c": "success"}
    assert (tries(scheduler, "a"), tries(scheduler, "b"), tries(scheduler, "c")) == (
        [(1, 1)],
        [(1, 1), (2, 2)],
        [(1, 2)],
    )
    assert scheduler.run_states("d") == {run_id: "running" if is_running else "success"}
    assert (instance(scheduler, "b")["queue"], instance(scheduler, "b")["operator"]) == ("new", "NewOperator")


def test_clearing_without_it_stays_on_the_version_that_the_run_began_with(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", A, B))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    deploy(scheduler, A, NEW_B, C)
    changed = clear(scheduler, run_id=run_id)
    assert [(one["task_id"], one["action"]) for one in changed.changes] == [("a", "clear"), ("b", "clear")]
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success", "b": "failed"}
    assert tries(scheduler, "b") == [(1, 1), (2, 1)]


@pytest.mark.parametrize(
    ("of_dag", "setting", "asked", "moves"),
    [(None, False, None, False), (None, True, None, True), (True, False, None, True), (False, True, None, False),
     (True, True, False, False), (False, False, True, True)],
)  # fmt: skip
def test_the_request_decides_on_the_version_then_the_dag_then_the_setting(
    scheduler: TestScheduler, of_dag: bool | None, setting: bool, asked: bool | None, moves: bool
) -> None:
    scheduler.install(a_dag("d", A, B))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    deploy(scheduler, A, NEW_B, C, rerun_with_latest_version=of_dag)
    clear(scheduler, default=setting, latest=asked, run_id=run_id)
    assert ("c" in scheduler.task_states(run_id)) is moves


def test_tasks_that_the_latest_version_has_no_more_are_removed_and_come_back_with_one_that_has_them(
    scheduler: TestScheduler,
) -> None:
    scheduler.install(a_dag("d", A, B, LONG))
    run_id = scheduler.trigger("d")
    held = holding(scheduler, "long")
    scheduler.beats()
    deploy(scheduler, A)
    changed = clear(scheduler, latest=True, run_id=run_id, task_ids=("a",))
    assert {(one["task_id"], one["action"]) for one in changed.changes} == {
        ("a", "clear"),
        ("b", "remove"),
        ("long", "remove"),
    }
    with scheduler.database.begin() as connection:
        report = {"attempt_id": held[0]["attempt_id"], "task_instance_id": held[0]["task_instance_id"]}
        facts = {"month": held[0]["month"], "outcome": "success", "ended_at": scheduler.clock.now().isoformat()}
        assert not execution.record_finishes(connection, [report | facts | {"xcoms": []}], now=scheduler.clock.now())
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success", "b": "removed", "long": "removed"}
    assert scheduler.run_states("d") == {run_id: "success"}
    scheduler.executor.outcome = lambda _: {"outcome": "success"}
    deploy(scheduler, A, B)
    clear(scheduler, latest=True, run_id=run_id, task_ids=("a",))
    scheduler.beats()
    assert scheduler.task_states(run_id) == {"a": "success", "b": "success", "long": "removed"}
    assert tries(scheduler, "b") == [(1, 1), (2, 3)]


def test_a_task_of_an_older_version_can_be_cleared_by_its_name(scheduler: TestScheduler) -> None:
    scheduler.install(a_dag("d", A, B))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    deploy(scheduler, A)
    changed = clear(scheduler, run_id=run_id, task_ids=("b",))
    assert [one["task_id"] for one in changed.changes] == ["b"]
    scheduler.beats()
    assert tries(scheduler, "b") == [(1, 1), (2, 1)]


def code_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def version(scheduler: TestScheduler, text: str, *tasks: TaskDocument) -> None:
    with scheduler.database.begin() as connection:
        add_version(connection, a_dag("d", *tasks), now=scheduler.clock.now(), code=text)


def test_a_run_goes_on_with_the_text_of_its_version_and_each_attempt_tells_which_it_ran(
    scheduler: TestScheduler,
) -> None:
    scheduler.executor.outcome = lambda _: {"outcome": "success"}
    scheduler.install(a_dag("d", A))
    version(scheduler, "old", A, B)
    run_id = scheduler.trigger("d")
    scheduler.beats()
    version(scheduler, "new", A, NEW_B)
    clear(scheduler, run_id=run_id, task_ids=("b",))
    scheduler.beats()
    clear(scheduler, run_id=run_id, task_ids=("b",), latest=True)
    scheduler.beats()
    handed = [(one["task_id"], one["file_hash"], one.get("source")) for one in scheduler.executor.taken]
    old, new = code_hash("old"), code_hash("new")
    assert handed == [("a", old, None), ("b", old, None), ("b", old, "old"), ("b", new, None)]
    with scheduler.database.begin() as connection:
        found = rows(connection, "SELECT code_hash FROM task_attempt ORDER BY queued_at, attempt_id")
        assert [one["code_hash"] for one in found] == [old, old, old, new]
        assert source_of(connection, old) == "old"


def test_a_preview_of_any_clear_is_its_effect(scheduler: TestScheduler) -> None:
    """Case H11: what changes in the database is what the preview says, whatever is chosen (a seeded walk)."""
    chance = random.Random(20260101)
    scheduler.executor.outcome = lambda _: {"outcome": chance.choice(["success", "failed", "skipped"])}
    names = ["a", "b", "c", "x", "y"]
    shapes = [
        tuple(
            TaskDocument(name, upstream=tuple(one for one in names[:place] if chance.random() < 0.4))
            for place, name in enumerate(names)
            if chance.random() < 0.8 or name == "a"
        )
        for _ in range(4)
    ]
    shapes = [tuple(_closed(shape)) for shape in shapes]
    scheduler.install(a_dag("d", *shapes[0]))
    run_ids = [scheduler.trigger("d", run_id=f"r{number}") for number in range(3)]
    scheduler.beats()
    for step in range(24):
        if step % 5 == 4:
            version(scheduler, f"text {step}", *shapes[chance.randrange(4)])
        before = _instances(scheduler)
        with suppress(InvalidRequestError):
            done = clear(
                scheduler,
                latest=chance.choice([True, False]),
                run_id=chance.choice([*run_ids, None]),
                task_ids=chance.choice([None, ("a",), ("b", "c"), ("x",)]),
                include_downstream=chance.random() < 0.5,
                include_upstream=chance.random() < 0.3,
                only_failed=chance.random() < 0.3,
            )
            expected = {
                (one["run_id"], one["task_id"]): {"remove": "removed"}.get(one["action"], "none")
                for one in done.changes
            }
            after = _instances(scheduler)
            assert {key: state for key, state in after.items() if before.get(key) != state} == {
                key: state for key, state in expected.items() if before.get(key) != state
            }
        scheduler.beats()


def _closed(shape: tuple[TaskDocument, ...]) -> Iterator[TaskDocument]:
    known = {task.task_id for task in shape}
    for task in shape:
        yield replace(task, upstream=tuple(one for one in task.upstream if one in known))


def _instances(scheduler: TestScheduler) -> dict[tuple[str, str], str]:
    with scheduler.database.begin() as connection:
        sql = "SELECT run_id, task_id, one.state FROM task_instance AS one JOIN dag_run ON dag_run.id = one.dag_run_id"
        return {(one["run_id"], one["task_id"]): one["state"] for one in rows(connection, sql)}
