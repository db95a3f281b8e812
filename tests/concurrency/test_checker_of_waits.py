"""The checker's rules about deferred tasks: a lawful history passes, each planted fault is found by the rule for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from bench.checker import check
from bench.records import Attempt, History, Instance, Limits, Move, Run, Sign

BEGUN, HALF, DONE = "00-begun", "01-half", "02-done"


def moves(*rows: tuple[str, str, str | None], start: int = 10) -> list[Move]:
    return [Move(start + number, "task_instance", 1, *row) for number, row in enumerate(rows)]


def at_work(attempt_id: str) -> list[tuple[str, str, str | None]]:
    return [("scheduled", "queued", attempt_id), ("queued", "running", attempt_id)]


WAITED = [
    ("none", "scheduled", None),
    *at_work(BEGUN),
    ("running", "deferred", BEGUN),
    ("deferred", "scheduled", BEGUN),
    *at_work(HALF),
    ("running", "deferred", HALF),
    ("deferred", "scheduled", HALF),
    *at_work(DONE),
    ("running", "success", DONE),
]
GOOD = History(
    runs=[Run(1, "d", "success")],
    instances=[Instance(id=1, dag_run_id=1, dag_id="d", task_id="a", state="success", max_tries=2)],
    attempts=[Attempt(BEGUN, 1, 1, "deferred"), Attempt(HALF, 1, 1, "deferred"), Attempt(DONE, 1, 1, "success")],
    moves=[Move(1, "dag_run", 1, "queued", "running"), *moves(*WAITED), Move(90, "dag_run", 1, "running", "success")],
    limits=Limits(parallelism=1),
    signs=[
        Sign(1, 1, 71, "begin", 1.0),
        Sign(1, 1, 72, "resume1", 3.1),
        Sign(1, 1, 73, "resume2", 4.2),
        Sign(1, 1, 73, "end", 4.3),
    ],
    waits={"d": (2.0, 1.0)},
)


def rules(history: History) -> list[str]:
    return sorted({one.rule for one in check(history)})


def with_signs(*signs: Sign) -> History:
    return replace(GOOD, signs=signs)


def test_a_try_that_waits_twice_is_one_try() -> None:
    assert check(GOOD) == []


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"attempts": [Attempt(BEGUN, 1, 1, "failed"), *GOOD.attempts[1:]]}, "charged_right"),
        ({"attempts": [Attempt(BEGUN, 1, 1, "deferred"), Attempt(HALF, 1, 1, "deferred")]}, "charged_right"),
        ({"instances": [replace(GOOD.instances[0], try_number=2)]}, "charged_right"),
        ({"triggers": 1}, "triggers_forgotten"),
        ({"signs": [*GOOD.signs, Sign(1, 1, 74, "begin", 5.0)]}, "executed_once"),
        ({"signs": [*GOOD.signs, Sign(1, 1, 74, "never", 5.0)]}, "waits_kept"),
        ({"signs": [*GOOD.signs, Sign(1, 1, 74, "resume2", 5.0)]}, "waits_kept"),
        ({"signs": [one for one in GOOD.signs if one.kind != "resume2"]}, "waits_kept"),
        ({"signs": [one for one in GOOD.signs if one.kind != "begin"]}, "waits_kept"),
        ({"signs": [replace(one, at=2.5) if one.kind == "resume1" else one for one in GOOD.signs]}, "waits_kept"),
    ],
)
def test_what_is_wrong_with_a_wait_is_found(changes: dict[str, Any], rule: str) -> None:
    assert rule in rules(replace(GOOD, **changes))


def test_a_wait_that_nobody_ended_is_found() -> None:
    history = replace(
        GOOD,
        instances=[replace(GOOD.instances[0], state="deferred")],
        attempts=GOOD.attempts[:1],
        moves=[GOOD.moves[0], *moves(*WAITED[:4])],
        runs=[Run(1, "d", "running")],
    )
    assert "all_ended" in rules(history)


def again(first: int, *path: tuple[str, str, str | None]) -> Sequence[Move]:
    """Return the moves of a try that was begun anew after ``path``, with its waits."""
    anew = [(old, new, None if one is None else f"again-{one}") for old, new, one in WAITED]
    return [GOOD.moves[0], *moves(*path, *anew, start=first), GOOD.moves[-1]]


def attempts_again(number: int) -> list[Attempt]:
    return [replace(one, id=f"again-{one.id}", try_number=number) for one in GOOD.attempts]


def test_a_wait_that_is_cleared_is_a_try_of_its_own() -> None:
    history = replace(
        GOOD,
        instances=[replace(GOOD.instances[0], try_number=2)],
        attempts=[GOOD.attempts[0], *attempts_again(2)],
        moves=again(10, *WAITED[:4], ("deferred", "none", BEGUN)),
        signs=[GOOD.signs[0], *(replace(one, try_number=2, at=one.at + 2) for one in GOOD.signs)],
    )
    assert check(history) == []
    assert "charged_right" in rules(replace(history, instances=GOOD.instances))


def test_a_try_that_is_cleared_on_its_way_to_go_on_begins_anew_and_no_other_does() -> None:
    """It has gone on, so it was not charged; the number of the try is used again."""
    history = replace(
        GOOD,
        attempts=[GOOD.attempts[0], *attempts_again(1)],
        moves=again(10, *WAITED[:5], ("scheduled", "none", BEGUN)),
        signs=[GOOD.signs[0], *(replace(one, at=one.at + 2) for one in GOOD.signs)],
    )
    assert check(history) == []
    twice = [*history.signs, replace(GOOD.signs[0], at=2.0)]
    assert rules(replace(history, signs=twice)) == ["executed_once"]
