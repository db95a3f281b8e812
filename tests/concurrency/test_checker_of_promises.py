"""The rules of ``bench.promises``: a history that keeps them passes, and each planted fault is found by its rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from bench.promises import RULES
from bench.records import (
    Attempt,
    Backfill,
    Call,
    Callback,
    Dag,
    Deadline,
    Event,
    History,
    Instance,
    Limits,
    Missed,
    Move,
    Run,
    Shape,
    Sign,
    Step,
    StepDone,
    WrongClock,
)

DAGS = {
    "d": Dag(
        tasks={
            "setup": Shape(),
            "one": Shape(upstream=("setup",), mapped_group="each", outlets=1),
            "two": Shape(upstream=("one",), mapped_group="each", callbacks=frozenset({"failure", "retry"})),
            "teardown": Shape(upstream=("setup", "two"), rule="all_done_setup_success", setups=("setup",)),
        },
        callbacks=frozenset({"success"}),
        deadline_seconds=(5.0,),
    ),
    "any": Dag(consumes=frozenset({"a", "b"}), consumes_any=True),
    "all": Dag(consumes=frozenset({"a", "b"})),
    "timed": Dag(every=1.0),
}

# The setup, two instances of each task of the group, the teardown.
INSTANCES = [
    Instance(id=1, dag_run_id=1, dag_id="d", task_id="setup", state="success"),
    Instance(id=10, dag_run_id=1, dag_id="d", task_id="one", map_index=0, state="success"),
    Instance(id=11, dag_run_id=1, dag_id="d", task_id="one", map_index=1, state="success"),
    Instance(id=20, dag_run_id=1, dag_id="d", task_id="two", map_index=0, state="success", try_number=2),
    Instance(id=21, dag_run_id=1, dag_id="d", task_id="two", map_index=1, state="success"),
    Instance(id=30, dag_run_id=1, dag_id="d", task_id="teardown", state="success"),
]

# Index 0 goes through the group before index 1 has begun; its second task fails once.
PATH = [
    (1, "none", "scheduled", None),
    (1, "scheduled", "success", None),
    (10, "none", "scheduled", None),
    (10, "scheduled", "success", None),
    (20, "none", "scheduled", None),
    (20, "scheduled", "up_for_retry", "try"),
    (20, "up_for_retry", "success", None),
    (11, "none", "scheduled", None),
    (11, "scheduled", "success", None),
    (21, "none", "scheduled", None),
    (21, "scheduled", "success", None),
    (30, "none", "scheduled", None),
    (30, "scheduled", "success", None),
]
OF_TASKS = [
    Move(number, "task_instance", one, old, new, attempt)
    for number, (one, old, new, attempt) in enumerate(PATH, start=100)
]

GOOD = History(
    runs=[
        Run(1, "d", "success", queued_at=0.0, ended_at=9.0),
        Run(2, "any", "success", run_type="asset_triggered"),
        Run(3, "all", "success", run_type="asset_triggered"),
        Run(4, "filled", "success", run_type="backfill", backfill_id=1, run_after=0.0),
        Run(5, "filled", "success", run_type="backfill", backfill_id=1, run_after=86400.0),
        Run(6, "timed", "success", run_type="scheduled", run_after=100.0),
        Run(7, "timed", "success", run_type="scheduled", run_after=103.0),
    ],
    instances=INSTANCES,
    attempts=[Attempt("try", 20, 1, "failed", is_called_back=True)],
    moves=[*OF_TASKS, Move(200, "dag_run", 1, "running", "success")],
    limits=Limits(parallelism=8),
    signs=[Sign(one.id, 1, 70, "end", 1.0) for one in INSTANCES],
    dags=DAGS,
    callbacks=[
        Callback(id=1, dag_run_id=1, event="run_success", state="success"),
        Callback(id=2, dag_run_id=1, event="deadline", state="success", deadline_id=1, late_by=None),
        Callback(id=3, dag_run_id=1, event="task_retry", state="success", instance_id=20, try_number=1),
    ],
    calls=[Call("run_success", 1), Call("deadline", 1), Call("task_retry", 1, 20, 1)],
    deadlines=[Deadline(1, 1, is_missed=True)],
    events=[Event(1, "a", 10), Event(2, "a", 11)],
    consumed=[("any", 1, 2), ("any", 2, 2), ("all", 1, 3)],
    gathered=[("all", "a", 2)],
    backfills=[Backfill(1, (0.0, 86400.0), is_completed=True)],
    missed=[Missed("timed", 101.0, 102.0)],
    steps=[Step("first", 10, 5.0), Step("second", 10, 7.0)],
    # Done, and done again: the first process died before it could tell.
    steps_done=[StepDone("first", 70, 4.0), StepDone("second", 70, 5.0), StepDone("second", 71, 6.0)],
)


def rules(history: History) -> list[str]:
    return [rule.__name__ for rule in RULES if list(rule(history))]


def changed(part: str, change: Callable[[list[Any]], list[Any]]) -> History:
    return replace(GOOD, **{part: change(list(getattr(GOOD, part)))})  # type: ignore[arg-type]


def instance(number: int, **changes: Any) -> History:
    return changed("instances", lambda all_: [replace(one, **changes) if one.id == number else one for one in all_])


def run(number: int, **changes: Any) -> History:
    return changed("runs", lambda all_: [replace(one, **changes) if one.id == number else one for one in all_])


def plus(part: str, *more: Any) -> History:
    return changed(part, lambda all_: [*all_, *more])


def without(part: str, position: int) -> History:
    return changed(part, lambda all_: all_[:position] + all_[position + 1 :])


def moved_forward(number: int, to: int) -> History:
    return changed("moves", lambda all_: [replace(one, id=to) if one.id == number else one for one in all_])


def test_a_history_that_keeps_all_promises_passes() -> None:
    assert rules(GOOD) == []


FAULTS: dict[str, tuple[str, History]] = {
    "a task of a group before its own index above": ("in_order", moved_forward(109, 104)),
    "a mapped task before what the group waits for": ("in_order", moved_forward(102, 100)),
    "a teardown before the last index": ("in_order", moved_forward(111, 109)),
    "a teardown whose setup has not succeeded": ("in_order", moved_forward(101, 150)),
    "an index that a group lacks": ("mapped_whole", instance(21, state="removed")),
    "an index that is there twice": ("mapped_whole", instance(21, map_index=0)),
    "a teardown that was left out": ("torn_down", instance(30, state="skipped")),
    "a teardown that nobody has seen": ("torn_down", without("signs", 5)),
    "a teardown of what was not set up": ("torn_down", instance(1, state="failed")),
    "an event that no run has": ("events_used_once", without("consumed", 0)),
    "an event in two runs": ("events_used_once", plus("consumed", ("any", 1, 3))),
    "an event that is used and waits": ("events_used_once", plus("gathered", ("any", "a", 1))),
    "a condition that is met and no run": ("events_used_once", plus("gathered", ("all", "b", 3))),
    "an event of no success": ("events_used_once", plus("events", Event(3, "c", 10))),
    "a success without its event": ("events_used_once", without("events", 0)),
    "a run of no event": ("events_used_once", plus("runs", Run(8, "any", "success", run_type="asset_triggered"))),
    "an end of a run that was not told": ("told_once", without("callbacks", 0)),
    "an end of a run that was told twice": (
        "told_once",
        plus("callbacks", Callback(id=9, dag_run_id=1, event="run_success", state="failed")),
    ),
    "a callback that never came to its end": (
        "told_once",
        plus("callbacks", Callback(id=9, dag_run_id=2, event="task_failure", state="pending")),
    ),
    "a callback's code that ran twice": ("told_once", plus("calls", Call("run_success", 1))),
    "a callback that ended well without its code": ("told_once", without("calls", 0)),
    "a try's callback that was called twice": ("told_once", plus("calls", Call("task_retry", 1, 20, 1))),
    "a try with two callbacks": (
        "told_once",
        plus(
            "callbacks",
            Callback(id=9, dag_run_id=1, event="task_retry", state="failed", instance_id=20, try_number=1),
        ),
    ),
    "a failed try that nobody told of": (
        "told_once",
        replace(GOOD, attempts=[Attempt("try", 20, 1, "failed")]),
    ),
    "a deadline that was forgotten": ("deadlines_fired", replace(GOOD, deadlines=[Deadline(1, 1, is_missed=False)])),
    "a deadline that was missed in silence": ("deadlines_fired", without("callbacks", 1)),
    "a deadline that was told of twice": (
        "deadlines_fired",
        plus("callbacks", Callback(id=9, dag_run_id=1, event="deadline", state="success", deadline_id=1)),
    ),
    "a deadline that was kept and told of": ("deadlines_fired", run(1, ended_at=4.0)),
    "a date that has no run": ("dates_filled", without("runs", 3)),
    "a date that has two": ("dates_filled", run(5, run_after=0.0)),
    "a backfill that never ends": ("dates_filled", replace(GOOD, backfills=[Backfill(1, (0.0, 86400.0), False)])),
    "a step that was done again": ("steps_done_once", plus("steps_done", StepDone("first", 71, 6.0))),
    "a step that a success lacks": ("steps_done_once", plus("steps", Step("third", 10, None))),
    "a time that became nothing": ("times_used_once", replace(GOOD, missed=[Missed("timed", 101.0, 101.0)])),
    "a time that is a run and was missed": ("times_used_once", replace(GOOD, missed=[Missed("timed", 101.0, 103.0)])),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    rule, history = FAULTS[fault]
    assert rule in rules(history)


def test_every_rule_can_fail() -> None:
    assert {rule for rule, _ in FAULTS.values()} == {rule.__name__ for rule in RULES}


def test_a_try_that_was_handed_back_may_call_again() -> None:
    again = plus("calls", Call("task_retry", 1, 20, 1))
    assert rules(replace(again, attempts=[*GOOD.attempts, Attempt("given back", 20, 1, "handed_back")])) == []


def test_a_run_that_people_ended_has_the_events_and_deadlines_that_it_could_have() -> None:
    consumed = [("any", 1, 2), ("all", 1, 3)]
    ended = replace(GOOD, events=GOOD.events[:1], consumed=consumed, gathered=[], runs=run(1, ended_at=4.0).runs)
    assert rules(ended) == ["events_used_once", "deadlines_fired"]
    assert rules(replace(ended, marked={1})) == []


def test_a_deadline_is_disputed_while_a_clock_is_wrong_and_at_no_other_time() -> None:
    kept = replace(GOOD, runs=run(1, ended_at=4.0).runs)
    assert rules(replace(kept, wrong_clocks=[WrongClock(3.0, 2.0, 3.0)])) == []
    assert rules(replace(kept, wrong_clocks=[WrongClock(3.0, 8.0, 9.0)])) == ["deadlines_fired"]
