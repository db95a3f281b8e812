"""The checker of the chaos benchmark: a lawful history passes, and each planted fault is found by the rule for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from bench.checker import check
from bench.records import Attempt, Excuse, History, Instance, Limits, Move, Run, Sign

FIRST, SECOND, OTHER = "00-first", "01-second", "02-other"


def moves(*rows: tuple[str, int, str, str, str | None], start: int = 1) -> list[Move]:
    return [Move(start + number, *row) for number, row in enumerate(rows)]


LIMITS = Limits(
    parallelism=2,
    pools={"default_pool": 2},
    runs_of_dag={"d": 1},
    tasks_of_run={"d": 2},
    instances_of_task={("d", "a"): 1},
    instances_of_task_in_run={("d", "a"): 1},
)

GOOD = History(
    runs=[Run(1, "d", "success")],
    instances=[
        Instance(id=1, dag_run_id=1, dag_id="d", task_id="a", state="success", try_number=2, max_tries=2),
        Instance(id=2, dag_run_id=1, dag_id="d", task_id="b", state="success"),
    ],
    attempts=[
        Attempt(FIRST, 1, 1, "failed"),
        Attempt(SECOND, 1, 2, "success"),
        Attempt(OTHER, 2, 1, "success"),
    ],
    moves=moves(
        ("dag_run", 1, "queued", "running", None),
        ("task_instance", 1, "none", "scheduled", None),
        ("task_instance", 2, "none", "scheduled", None),
        ("task_instance", 1, "scheduled", "queued", FIRST),
        ("task_instance", 2, "scheduled", "queued", OTHER),
        ("task_instance", 1, "queued", "running", FIRST),
        ("task_instance", 2, "queued", "running", OTHER),
        ("task_instance", 1, "running", "up_for_retry", FIRST),
        ("task_instance", 2, "running", "success", OTHER),
        ("task_instance", 1, "up_for_retry", "scheduled", FIRST),
        ("task_instance", 1, "scheduled", "queued", SECOND),
        ("task_instance", 1, "queued", "running", SECOND),
        ("task_instance", 1, "running", "success", SECOND),
        ("dag_run", 1, "running", "success", None),
    ),
    limits=LIMITS,
    signs=[
        Sign(1, 1, 71, "begin", 1.0),
        Sign(1, 1, 71, "tick", 1.5),
        Sign(1, 2, 73, "begin", 2.0),
        Sign(1, 2, 73, "end", 3.0),
        Sign(2, 1, 72, "begin", 1.0),
        Sign(2, 1, 72, "end", 2.0),
    ],
    overlap_seconds=0.5,
)


def rules(history: History) -> list[str]:
    return sorted({one.rule for one in check(history)})


def test_a_lawful_history_passes() -> None:
    assert check(GOOD) == []


def test_a_history_with_a_clear_passes_too() -> None:
    """A cleared instance ends twice, and its new try is charged."""
    again = moves(
        ("dag_run", 1, "success", "queued", None),
        ("task_instance", 2, "success", "none", OTHER),
        ("dag_run", 1, "queued", "running", None),
        ("task_instance", 2, "none", "scheduled", OTHER),
        ("task_instance", 2, "scheduled", "queued", "03-again"),
        ("task_instance", 2, "queued", "running", "03-again"),
        ("task_instance", 2, "running", "success", "03-again"),
        ("dag_run", 1, "running", "success", None),
        start=100,
    )
    history = replace(
        GOOD,
        instances=[GOOD.instances[0], replace(GOOD.instances[1], try_number=2, max_tries=1)],
        attempts=[*GOOD.attempts, Attempt("03-again", 2, 2, "success")],
        moves=[*GOOD.moves, *again],
    )
    assert check(history) == []


def with_moves(change: Callable[[list[Move]], Sequence[Move]]) -> History:
    return replace(GOOD, moves=change(list(GOOD.moves)))


def without(*ids: int) -> History:
    return with_moves(lambda path: [move for move in path if move.id not in ids])


def plus(*extra: Move) -> History:
    return with_moves(lambda path: [*path, *extra])


def instance(**changes: object) -> History:
    return replace(GOOD, instances=[replace(GOOD.instances[0], **changes), GOOD.instances[1]])  # type: ignore[arg-type]


def attempts(*found: Attempt) -> History:
    return replace(GOOD, attempts=[*found, GOOD.attempts[2]])


def signs(*extra: Sign) -> History:
    return replace(GOOD, signs=[*GOOD.signs, *extra])


def limits(**changes: object) -> History:
    return replace(GOOD, limits=replace(LIMITS, **changes))  # type: ignore[arg-type]


TWO_RUNS = replace(
    GOOD,
    runs=[*GOOD.runs, Run(2, "d", "success")],
    moves=[
        *GOOD.moves[:-1],
        Move(90, "dag_run", 2, "queued", "running"),
        Move(91, "dag_run", 1, "running", "success"),
        Move(92, "dag_run", 2, "running", "success"),
    ],
)

FAULTS: dict[str, tuple[str, History]] = {
    "an unlawful move": ("lawful_moves", plus(Move(50, "task_instance", 1, "success", "running", SECOND))),
    "a move that was skipped": ("lawful_moves", without(10)),
    "a state that no move made": ("lawful_moves", instance(state="skipped")),
    "a run that never ended": ("all_ended", replace(GOOD, runs=[Run(1, "d", "running")])),
    "an instance that never ended": ("all_ended", instance(state="scheduled")),
    "a run that succeeded with a failed task": ("all_ended", instance(state="failed")),
    "a run that failed without one": ("all_ended", replace(GOOD, runs=[Run(1, "d", "failed")])),
    "a second end": ("ended_once", plus(Move(50, "task_instance", 1, "success", "failed", SECOND))),
    "a second end of a run": ("ended_once", plus(Move(50, "dag_run", 1, "success", "failed"))),
    "an attempt that nobody closed": (
        "charged_right",
        attempts(Attempt(FIRST, 1, 1, None), Attempt(SECOND, 1, 2, "success")),
    ),
    "a try without an attempt": ("charged_right", attempts(Attempt(SECOND, 1, 2, "success"))),
    "a try that was charged twice": (
        "charged_right",
        attempts(Attempt(FIRST, 1, 1, "failed"), Attempt(SECOND, 1, 1, "success")),
    ),
    "a retry that was lost": (
        "charged_right",
        replace(instance(state="failed"), runs=[Run(1, "d", "failed")]),
    ),
    "an outcome that the move contradicts": (
        "charged_right",
        attempts(Attempt(FIRST, 1, 1, "success"), Attempt(SECOND, 1, 2, "success")),
    ),
    "an attempt that ended twice": (
        "charged_right",
        plus(Move(50, "task_instance", 1, "running", "success", SECOND)),
    ),
    "a try that was taken from its worker and not handed back": (
        "charged_right",
        plus(Move(50, "task_instance", 1, "running", "scheduled")),
    ),
    "too many at once": ("within_limits", limits(parallelism=1)),
    "an executor too full": ("within_limits", limits(executors={"local": 1})),
    "too many runs of a backfill": (
        "within_limits",
        replace(limits(runs_of_backfill={7: 0}), runs=[Run(1, "d", "success", backfill_id=7)]),
    ),
    "a pool too full": ("within_limits", limits(pools={"default_pool": 1})),
    "slots of a pool counted by size": ("within_limits", instance(pool_slots=2)),
    "too many of a run": ("within_limits", limits(tasks_of_run={"d": 1})),
    "too many of a task": ("within_limits", limits(instances_of_task={("d", "a"): 0})),
    "too many of a task in a run": ("within_limits", limits(instances_of_task_in_run={("d", "a"): 0})),
    "too many runs": ("within_limits", TWO_RUNS),
    "code that ran twice in one try": ("executed_once", signs(Sign(1, 2, 99, "begin", 2.1))),
    "code that ran without a charge": ("executed_once", signs(Sign(2, 2, 99, "begin", 5.0))),
    "a success without code": ("executed_once", replace(GOOD, signs=GOOD.signs[:4])),
    "two tries at work together": ("never_together", signs(Sign(1, 1, 71, "tick", 2.6))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    rule, history = FAULTS[fault]
    assert rule in rules(history)


def test_an_end_takes_the_time_allowed() -> None:
    assert check(signs(Sign(1, 1, 71, "tick", 2.4))) == []


def test_code_below_a_stopped_host_is_excused_and_no_other() -> None:
    late = signs(Sign(1, 1, 71, "tick", 2.6))
    assert check(replace(late, excuses=[Excuse(frozenset({71}), 1.9, 2.7)])) == []
    assert rules(replace(late, excuses=[Excuse(frozenset({70}), 1.9, 2.7)])) == ["never_together"]
    assert rules(replace(late, excuses=[Excuse(frozenset({71}), 1.9, 2.5)])) == ["never_together"]


def test_a_place_that_was_freed_before_is_free() -> None:
    """Limit 1: the second run starts after the first has ended."""
    history = replace(
        GOOD,
        runs=[*GOOD.runs, Run(2, "d", "success")],
        moves=[
            *GOOD.moves,
            Move(90, "dag_run", 2, "queued", "running"),
            Move(95, "dag_run", 2, "running", "success"),
        ],
    )
    assert check(history) == []


def test_what_people_end_is_not_the_scheduler_s_doing() -> None:
    """A run marked as failed, once it had succeeded: unlawful for a scheduler, not for a person."""
    marked = replace(
        GOOD, runs=[Run(1, "d", "failed")], moves=[*GOOD.moves, Move(50, "dag_run", 1, "success", "failed")]
    )
    assert rules(marked) == ["all_ended", "ended_once"]
    assert rules(replace(marked, marked={1})) == []


def test_a_task_that_is_removed_has_not_ended_again() -> None:
    gone = Move(50, "task_instance", 2, "success", "removed", OTHER)
    removed = replace(GOOD.instances[1], state="removed")
    assert check(replace(GOOD, instances=[GOOD.instances[0], removed], moves=[*GOOD.moves, gone])) == []


def test_runs_of_backfills_take_no_places_of_their_dag() -> None:
    of_backfill = replace(TWO_RUNS, runs=[GOOD.runs[0], Run(2, "d", "success", backfill_id=7)])
    assert check(of_backfill) == []


def test_a_try_that_was_handed_back_need_not_be_made_again_once_people_end_its_run() -> None:
    given_back = Attempt("03-given-back", 2, 2, "handed_back")
    history = replace(signs(Sign(2, 2, 99, "begin", 5.0)), attempts=[*GOOD.attempts, given_back])
    assert check(history) == []
