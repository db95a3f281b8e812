"""Reads the recorded history of an installation and says which of the scheduler's promises it broke.

A pure function over rows (``bench.recorded`` reads them): only lawful moves, every instance ended once per clear,
attempts charged right, no limit exceeded at any moment, every run ended, no two attempts of one instance at work at
the same time. Called by the chaos benchmark and its short form among the tests, when everything has come to rest.

Moves are replayed in the order of their ids. An id is drawn while the row is locked, and whoever admits something has
seen only moves that were committed, thus have smaller ids; the replay can therefore miss a place that was held for a
moment longer, but never reports an excess that was none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from bench import promises, waits
from bench.records import (
    DEFERRED,
    HANDED_BACK,
    SUSPENDED,
    UNCHARGED,
    Attempt,
    History,
    Instance,
    Limits,
    Run,
    name_of,
    paths_of,
)
from treadle_metadata.states import ACTIVE, FINISHED, FINISHED_RUNS, RUN_MOVES, TASK_MOVES, RunState, TaskState


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise: which rule, and the facts."""

    rule: str
    facts: str


def check(history: History) -> list[Violation]:
    """Return everything that is wrong, in the order of the rules; an empty list when all promises were kept."""
    rules = (lawful_moves, all_ended, ended_once, charged_right, within_limits, executed_once, never_together)
    return [
        Violation(rule.__name__, facts) for rule in (*rules, *promises.RULES, *waits.RULES) for facts in rule(history)
    ]


def lawful_moves(history: History) -> Iterator[str]:
    """Each move is one that ``states`` has, each begins where the one before ended, the last is the row's state."""
    tables = (
        ("dag_run", _lawful(RUN_MOVES), {RunState.QUEUED}, {run.id: run.state for run in history.runs}),
        ("task_instance", _lawful(TASK_MOVES), {TaskState.NONE, TaskState.SCHEDULED}, _states(history)),
    )
    paths = paths_of(history)
    for entity, lawful, first, states in tables:
        for number, state in states.items():
            path = paths.get((entity, number), [])
            for move in path:
                if (move.old, move.new) not in lawful:
                    yield f"{entity} {number} moved from {move.old} to {move.new} (move {move.id})"
            for before, after in pairwise(path):
                if before.new != after.old:
                    yield f"{entity} {number} was {before.new} and then moved from {after.old} (move {after.id})"
            if path and path[0].old not in first:
                yield f"{entity} {number} began as {path[0].old}"
            if path and path[-1].new != state:
                yield f"{entity} {number} is {state}, its last move was to {path[-1].new}"


def all_ended(history: History) -> Iterator[str]:
    """No wake-up was lost: every run and all its instances have ended, and the run's state agrees with theirs.

    A run that people ended has the state that they gave it.
    """
    broken = {one.dag_run_id for one in history.instances if one.state in ("failed", "upstream_failed")}
    for run in history.runs:
        if run.state not in FINISHED_RUNS:
            yield f"run {run.id} of {run.dag_id} is still {run.state}"
        elif run.id not in history.marked and (run.state == RunState.FAILED) != (run.id in broken):
            yield f"run {run.id} of {run.dag_id} is {run.state}, which its task instances contradict"
    for one in history.instances:
        if one.state not in FINISHED:
            yield f"{name_of(one)} is still {one.state}"


def ended_once(history: History) -> Iterator[str]:
    """An instance ends once, and once more for each time that it was cleared after an end; so does its run.

    Being removed with its task is no end.
    """
    paths = paths_of(history)
    for one in history.instances:
        ended = False
        for move in paths.get(("task_instance", one.id), []):
            if move.new == TaskState.NONE:
                ended = False
            elif move.new in FINISHED and move.new != TaskState.REMOVED:
                if ended and one.dag_run_id not in history.marked:
                    yield f"{name_of(one)} ended again as {move.new}, without having been cleared (move {move.id})"
                ended = True
    for run in history.runs:
        path = paths.get(("dag_run", run.id), [])
        again = any(move.old in FINISHED_RUNS and move.new in FINISHED_RUNS for move in path)
        if again and run.id not in history.marked:
            yield f"run {run.id} of {run.dag_id} ended twice"


def charged_right(history: History) -> Iterator[str]:
    """Each try is one attempt, ended once, as its outcome says; retries are neither lost nor given away.

    An attempt that deferred is no try of its own, unless what it waited for was taken away.
    """
    attempts, on = defaultdict(list), waits.went_on(history)
    for attempt in history.attempts:
        attempts[attempt.instance_id].append(attempt)
        if attempt.outcome is None:
            yield f"attempt {attempt.id} (try {attempt.try_number} of instance {attempt.instance_id}) was never closed"
    for one in history.instances:
        ended = [attempt for attempt in attempts[one.id] if attempt.id not in on]
        charged = [attempt for attempt in ended if attempt.outcome not in UNCHARGED]
        tries = sorted(attempt.try_number for attempt in charged)
        if tries != list(range(1, one.try_number + 1)):
            yield f"{name_of(one)} is at try {one.try_number}, its attempts are {tries}"
        last = max(charged, key=lambda attempt: attempt.try_number, default=None)
        early = one.state == TaskState.FAILED and one.try_number <= one.max_tries and _may_retry(last)
        if early and one.dag_run_id not in history.marked:
            yield f"{name_of(one)} failed at try {one.try_number} and has {one.max_tries} retries"
    yield from _ends_of_attempts(history)


def _may_retry(attempt: Attempt | None) -> bool:
    return attempt is None or attempt.outcome != "failed_without_retry"


_OUTCOMES: Mapping[str, frozenset[str]] = {
    TaskState.SUCCESS: frozenset({"success"}),
    TaskState.SKIPPED: frozenset({"skipped"}),
    TaskState.FAILED: frozenset({"failed", "failed_without_retry"}),
    TaskState.UP_FOR_RETRY: frozenset({"failed"}),
    TaskState.DEFERRED: frozenset({DEFERRED}),
}


def _ends_of_attempts(history: History) -> Iterator[str]:
    outcomes = {attempt.id: attempt.outcome for attempt in history.attempts}
    marked = {one.id for one in history.instances if one.dag_run_id in history.marked}
    ends: Counter[str] = Counter()
    for move in history.moves:
        if move.attempt_id is None or move.old not in ACTIVE or move.new in ACTIVE:
            continue
        ends[move.attempt_id] += 1
        wanted = _OUTCOMES.get(move.new)
        if wanted is not None and move.entity_id not in marked and outcomes.get(move.attempt_id) not in wanted:
            found = outcomes.get(move.attempt_id)
            yield f"attempt {move.attempt_id} moved its instance to {move.new}, its outcome is {found}"
    for attempt_id, count in ends.items():
        if count > 1:
            yield f"attempt {attempt_id} was ended {count} times"
    yield from _given_back(history)


def _given_back(history: History) -> Iterator[str]:
    """What was running and goes on uncharged was handed back by a scheduler that stopped, or waits as it said."""
    outcomes = Counter((attempt.instance_id, attempt.outcome) for attempt in history.attempts)
    taken = Counter((move.entity_id, move.old, move.new) for move in history.moves if move.entity == "task_instance")
    uncharged = {TaskState.SCHEDULED: HANDED_BACK, TaskState.UP_FOR_RESCHEDULE: SUSPENDED, TaskState.DEFERRED: DEFERRED}
    for (instance, old, new), count in taken.items():
        wanted = uncharged.get(TaskState(new))
        if old == TaskState.RUNNING and wanted is not None and count > outcomes[instance, wanted]:
            yield f"instance {instance} became {new} {count} times, and was {wanted} {outcomes[instance, wanted]} times"


def within_limits(history: History) -> Iterator[str]:
    """At no moment were more runs or instances under way, or more slots held, than a limit allows.

    A run that people end goes on over any limit, for its teardowns.
    """
    instances = {one.id: one for one in history.instances}
    runs = {run.id: run for run in history.runs}
    held: Counter[tuple[str, ...]] = Counter()
    reported = set()
    for move in sorted(history.moves, key=lambda move: move.id):
        if move.entity == "dag_run":
            change = (move.new == RunState.RUNNING) - (move.old == RunState.RUNNING)
            places = _places_of_run(runs[move.entity_id], history.limits)
        else:
            change = (move.new in ACTIVE) - (move.old in ACTIVE)
            places = _places(instances[move.entity_id], history.limits)
        for place, size, limit in places if change else ():
            held[place] += change * size
            excused = move.entity == "dag_run" and move.entity_id in history.marked
            if change > 0 and held[place] > limit and place not in reported and not excused:
                reported.add(place)
                yield f"{' '.join(place)}: {held[place]} under way at move {move.id}, the limit is {limit}"


Place = tuple[tuple[str, ...], int, int]
"""What is limited, how much of it one thing takes, and the limit."""


def _places_of_run(run: Run, limits: Limits) -> list[Place]:
    """A run of a backfill takes none of its DAG's places."""
    if run.backfill_id is not None:
        name, limit = (
            ("max_active_runs of backfill", str(run.backfill_id)),
            limits.runs_of_backfill.get(run.backfill_id),
        )
    else:
        name, limit = ("max_active_runs of", run.dag_id), limits.runs_of_dag.get(run.dag_id)
    return [] if limit is None else [(name, 1, limit)]


def _places(one: Instance, limits: Limits) -> list[Place]:
    run, task = str(one.dag_run_id), (one.dag_id, one.task_id)
    slots = limits.pools.get(one.pool, -1)
    places: list[tuple[tuple[str, ...], int, int | None]] = [
        (("parallelism",), 1, limits.parallelism),
        (("executor", one.executor), 1, limits.executors.get(one.executor)),
        (("pool", one.pool), one.pool_slots, None if slots == -1 else slots),
        (("max_active_tasks of run", run), 1, limits.tasks_of_run.get(one.dag_id)),
        (("max_active_tis_per_dag of", *task), 1, limits.instances_of_task.get(task)),
        (("max_active_tis_per_dagrun of", *task, run), 1, limits.instances_of_task_in_run.get(task)),
    ]
    return [(place, size, limit) for place, size, limit in places if limit is not None]


def executed_once(history: History) -> Iterator[str]:
    """User code ran at most once for each try (again where the try went on), for no other, and did if it succeeded."""
    begins = Counter((sign.instance_id, sign.try_number) for sign in history.signs if sign.kind == "begin")
    tries = {(one.instance_id, one.try_number) for one in history.attempts}
    again = waits.begun_again(history)
    for (instance, number), count in begins.items():
        if count > 1 + again[instance, number]:
            yield f"try {number} of instance {instance} was executed {count} times"
        if (instance, number) not in tries:
            yield f"try {number} of instance {instance} was executed, and has no attempt"
    seen = {sign.instance_id for sign in history.signs if sign.kind == "end"}
    unmarked = [one for one in history.instances if one.dag_run_id not in history.marked]
    for one in unmarked if seen else ():
        if one.state == TaskState.SUCCESS and one.try_number and one.id not in seen:
            yield f"{name_of(one)} succeeded without its code having come to its end"


def never_together(history: History) -> Iterator[str]:
    """When a try of an instance begins, the try before it is not at work any more, or ends within the time allowed."""
    begins: dict[int, dict[int, float]] = defaultdict(dict)
    latest: dict[tuple[int, int], float] = {}
    for sign in history.signs:
        key = (sign.instance_id, sign.try_number)
        if sign.kind == "begin":
            of_instance = begins[sign.instance_id]
            of_instance[sign.try_number] = min(sign.at, of_instance.get(sign.try_number, sign.at))
        if not any(one.covers(sign.pid) and one.began <= sign.at <= one.ended for one in history.excuses):
            latest[key] = max(sign.at, latest.get(key, sign.at))
    for (instance, number), last in latest.items():
        newer = min((at for later, at in begins[instance].items() if later > number), default=last)
        if last > newer + history.overlap_seconds:
            yield f"try {number} of instance {instance} was at work {last - newer:.2f} s after a newer try began"


def _lawful(
    moves: Mapping[RunState, frozenset[RunState]] | Mapping[TaskState, frozenset[TaskState]],
) -> set[tuple[str, str]]:
    return {(str(old), str(new)) for old, following in moves.items() for new in following}


def _states(history: History) -> dict[int, str]:
    return {one.id: one.state for one in history.instances}
