"""The promises beside states and limits: order, mapped groups, teardowns, assets, callbacks, deadlines, dates.

Rules of ``bench.checker``, in its manner: each takes the whole history and yields what is wrong.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bench.records import UNCHARGED, Dag, History, Instance, Run, Shape, name_of, paths_of
from treadle_metadata.states import FINISHED, FINISHED_RUNS, CallbackState, RunState, TaskState

FAILURES: Final = {"failed": "task_failure", "up_for_retry": "task_retry"}
ENDS: Final = {"task_failure": "failure", "task_retry": "retry", "run_success": "success", "run_failure": "failure"}


def in_order(history: History) -> Iterator[str]:
    """No instance is scheduled before what it waits for; in a mapped group that is its own index, no other."""
    by_run = _by_task(history)
    instances = {one.id: one for one in history.instances}
    began = {key: path[0].old for key, path in paths_of(history).items()}
    states = {one.id: began.get(("task_instance", one.id), one.state) for one in history.instances}
    for move in sorted(history.moves, key=lambda move: move.id):
        if move.entity != "task_instance":
            continue
        one = instances[move.entity_id]
        if (move.old, move.new) == (TaskState.NONE, TaskState.SCHEDULED):
            shape = _shape(history, one)
            above = _above(history, one, by_run[one.dag_run_id])
            for wrong in _too_early(shape, [(other, states[other.id]) for other in above]):
                yield f"{name_of(one)} was scheduled (move {move.id}) while {wrong}"
        states[one.id] = move.new


def _above(history: History, one: Instance, tasks: Mapping[str, list[Instance]]) -> list[Instance]:
    shape, found = _shape(history, one), list[Instance]()
    for task_id in shape.upstream:
        above = tasks.get(task_id, [])
        group = shape.mapped_group
        beside = bool(above) and group is not None and _shape(history, above[0]).mapped_group == group
        found += [other for other in above if not beside or other.map_index == one.map_index]
    return found


def _too_early(shape: Shape, above: list[tuple[Instance, str]]) -> Iterator[str]:
    if shape.rule == "all_success":
        yield from (f"{name_of(one)} was {state}" for one, state in above if state not in ("success", "removed"))
    if shape.rule == "all_done_setup_success":
        yield from (f"{name_of(one)} was {state}" for one, state in above if state not in FINISHED)
        if not any(state == "success" for one, state in above if one.task_id in shape.setups):
            yield "none of its setups had succeeded"


def mapped_whole(history: History) -> Iterator[str]:
    """In a run that succeeded all tasks of a mapped group have the same instances, counted from 0."""
    by_run = _by_task(history)
    for run in _untouched(history):
        groups: dict[str, dict[str, list[int]]] = defaultdict(dict)
        for task_id, shape in _dag(history, run.dag_id).tasks.items():
            found = [one.map_index for one in by_run[run.id].get(task_id, []) if one.state != TaskState.REMOVED]
            if shape.mapped_group is not None and run.state == RunState.SUCCESS:
                groups[shape.mapped_group][task_id] = sorted(found)
        for group, indexes in groups.items():
            longest = max(map(len, indexes.values()))
            if any(found != list(range(longest)) for found in indexes.values()):
                yield f"run {run.id} of {run.dag_id} has in group {group} the indexes {dict(indexes)}"


def torn_down(history: History) -> Iterator[str]:
    """A teardown has run if one of its setups has succeeded, whoever ended the run; else it has not."""
    by_run = _by_task(history)
    ended = {sign.instance_id for sign in history.signs if sign.kind == "end"}
    for run in history.runs:
        for task_id, shape in _dag(history, run.dag_id).tasks.items():
            setups = [one for name in shape.setups for one in by_run[run.id].get(name, [])]
            wanted = any(one.state == TaskState.SUCCESS for one in setups)
            for one in by_run[run.id].get(task_id, []) if shape.setups else ():
                has_run = one.state in (TaskState.SUCCESS, TaskState.FAILED)
                if has_run != wanted or (wanted and history.signs and one.id not in ended):
                    seen = "was" if one.id in ended else "was never"
                    states = ", ".join(f"{setup.task_id} {setup.state}" for setup in setups)
                    yield f"{name_of(one)} is {one.state} and {seen} at work; its setups: {states}; run {run.state}"


def events_used_once(history: History) -> Iterator[str]:
    """Each success makes its task's events, each event is in one run of each consumer, no run has none."""
    yield from _events_made(history)
    used = Counter((consumer, event) for consumer, event, _ in history.consumed)
    kept = {(consumer, event) for consumer, _, event in history.gathered}
    parts: dict[str, set[str]] = defaultdict(set)
    for consumer, asset, _ in history.gathered:
        parts[consumer].add(asset)
    for name, dag in history.dags.items():
        for event in history.events if dag.consumes else ():
            count = used[name, event.id] + ((name, event.id) in kept)
            if event.asset in dag.consumes and count != 1:
                yield f"event {event.id} of {event.asset} is {used[name, event.id]} times in runs of {name}" + (
                    ", and waits" if (name, event.id) in kept else ""
                )
        if dag.consumes and (parts[name] if dag.consumes_any else parts[name] >= dag.consumes):
            yield f"{name} has not run for what has gathered of {', '.join(sorted(parts[name]))}"
    runs_with_events = {run for _, _, run in history.consumed}
    for run in history.runs:
        if run.run_type == "asset_triggered" and run.id not in runs_with_events:
            yield f"run {run.id} of {run.dag_id} has no event"


def _events_made(history: History) -> Iterator[str]:
    marked = _marked(history)
    made = Counter(event.instance_id for event in history.events)
    successes = Counter(
        move.entity_id for move in history.moves if move.entity == "task_instance" and move.new == TaskState.SUCCESS
    )
    for one in history.instances:
        wanted = _shape(history, one).outlets * successes[one.id]
        if one.id not in marked and made[one.id] != wanted:
            yield f"{name_of(one)} succeeded {successes[one.id]} times and made {made[one.id]} events, not {wanted}"


def told_once(history: History) -> Iterator[str]:
    """Each end of a run is one callback, called at most once, and once if it ended well; likewise each failed try."""
    names = {run.id: run for run in history.runs}
    rows = Counter((one.dag_run_id, one.event) for one in history.callbacks)
    well = Counter((one.dag_run_id, one.event) for one in history.callbacks if one.state == CallbackState.SUCCESS)
    calls = Counter((call.dag_run_id, call.event) for call in history.calls if call.instance_id is None)
    for one in history.callbacks:
        if one.state not in (CallbackState.SUCCESS, CallbackState.FAILED):
            yield f"callback {one.id} ({one.event} of run {one.dag_run_id}) is still {one.state}"
    for (run, event), wanted in _ends(history).items():
        if rows[run, event] != wanted:
            yield f"run {run} of {names[run].dag_id} had {wanted} ends of {event}, and {rows[run, event]} callbacks"
    for key in rows | calls:
        own = key[1] not in FAILURES.values()
        if own and not well[key] <= calls[key] <= rows[key]:
            counts = f"{rows[key]} callbacks, of which {well[key]} ended well"
            yield f"run {key[0]}: {key[1]} was called {calls[key]} times for {counts}"
    yield from _tries_told_once(history)


def _ends(history: History) -> Counter[tuple[int, str]]:
    """Return how often each run with callbacks ended, by what is called then."""
    ends: Counter[tuple[int, str]] = Counter()
    dags = {run.id: _dag(history, run.dag_id) for run in history.runs}
    for move in history.moves:
        event = {"success": "run_success", "failed": "run_failure"}.get(move.new)
        if move.entity == "dag_run" and event is not None and ENDS[event] in dags[move.entity_id].callbacks:
            ends[move.entity_id, event] += 1
    return ends


def _tries_told_once(history: History) -> Iterator[str]:
    again = Counter((one.instance_id, one.try_number) for one in history.attempts if one.outcome in UNCHARGED)
    told = Counter((call.instance_id, call.try_number, call.event) for call in history.calls if call.instance_id)
    for (instance, number, event), count in told.items():
        if count > 1 + again[instance, number]:
            yield f"{event} of try {number} of instance {instance} was called {count} times"
    rows = Counter((one.instance_id, one.try_number, one.event) for one in history.callbacks if one.try_number)
    for (of, number, event), count in rows.items():
        if count > 1:
            yield f"{event} of try {number} of instance {of} has {count} callbacks"
    instances = {one.id: one for one in history.instances if one.dag_run_id not in history.marked}
    attempts = {one.id: one for one in history.attempts}
    for move in history.moves:
        one, attempt = instances.get(move.entity_id), attempts.get(move.attempt_id or "")
        if move.entity != "task_instance" or one is None or attempt is None or move.new not in FAILURES:
            continue
        if ENDS[FAILURES[move.new]] in _shape(history, one).callbacks and not attempt.is_called_back:
            yield f"{FAILURES[move.new]} of try {attempt.try_number} of {name_of(one)} was never called"


def deadlines_fired(history: History) -> Iterator[str]:
    """A deadline that is over is told of once, by whoever saw it; one that was kept never."""
    fired = Counter(one.deadline_id for one in history.callbacks if one.deadline_id is not None)
    for deadline in history.deadlines:
        if not deadline.is_missed:
            yield f"deadline {deadline.id} of run {deadline.dag_run_id} was neither kept nor missed"
    for number, count in fired.items():
        if count > 1:
            yield f"deadline {number} was told of {count} times"
    yield from _told_in_time(history, Counter(one.dag_run_id for one in history.deadlines if fired[one.id]))


def _told_in_time(history: History, told: Counter[int]) -> Iterator[str]:
    """Check what runs that began once and ended by themselves were told of, while all clocks agreed."""
    late_by = {one.dag_run_id: one.late_by for one in history.callbacks if one.late_by is not None}
    for run in _untouched(history):
        if run.clear_number or run.ended_at is None or _disputed(history, run.queued_at, run.ended_at):
            continue
        taken, seconds = run.ended_at - run.queued_at, _dag(history, run.dag_id).deadline_seconds
        if told[run.id] != sum(taken > most for most in seconds):
            yield f"run {run.id} of {run.dag_id} took {taken:.3f} s and missed {told[run.id]} deadlines of {seconds}"
        if late_by.get(run.id, 0.0) < 0:
            yield f"run {run.id} of {run.dag_id} was told of a deadline that it had kept by {-late_by[run.id]:.3f} s"


def dates_filled(history: History) -> Iterator[str]:
    """A backfill has one run for each of its dates, and is complete when all of them have ended."""
    runs = defaultdict(list)
    for run in history.runs:
        runs[run.backfill_id].append(run.run_after)
    for one in history.backfills:
        if sorted(runs[one.id]) != sorted(one.dates):
            yield f"backfill {one.id} has runs for {sorted(runs[one.id])}, its dates are {sorted(one.dates)}"
        if not one.is_completed:
            yield f"backfill {one.id} was never completed"


def times_used_once(history: History) -> Iterator[str]:
    """Each time of a schedule, from its first run to its last, is one run or one missed time."""
    for name, dag in history.dags.items():
        runs = [run.run_after for run in history.runs if run.dag_id == name and run.run_type == "scheduled"]
        if dag.every is None or not runs:
            continue
        used = Counter(_slots(runs, dag.every))
        for one in history.missed:
            if one.dag_id == name:
                used.update(range(round(one.first / dag.every), round(one.last / dag.every) + 1))
        for slot in range(min(_slots(runs, dag.every)), max(_slots(runs, dag.every)) + 1):
            if used[slot] != 1:
                yield f"the time {slot * dag.every} of {name} became {used[slot]} runs and missed times"


def steps_done_once(history: History) -> Iterator[str]:
    """A durable step is not done again once it is recorded, in whichever attempt; a success has all of its steps."""
    steps = {step.key: step for step in history.steps}
    excused = {pid for excuse in history.excuses for pid in excuse.pids or ()}
    for done in history.steps_done:
        step = steps.get(done.key)
        if step is None or step.done_at is None or done.pid in excused:
            continue
        if done.at > step.done_at + history.overlap_seconds and not _disputed(history, step.done_at, done.at):
            late = done.at - step.done_at
            yield f"step {done.key} of instance {step.instance_id} was done again {late:.2f} s after its record"
    ended = {one.id for one in history.instances if one.state == TaskState.SUCCESS} - _marked(history)
    for step in history.steps:
        if step.done_at is None and step.instance_id in ended:
            yield f"step {step.key} of instance {step.instance_id}, which succeeded, was never recorded"


def _slots(times: Iterable[float], every: float) -> list[int]:
    return [round(one / every) for one in times]


def _disputed(history: History, first: float, last: float) -> bool:
    """Tell whether the schedulers may not have been of one mind on the times of this span."""
    return any(
        one.began - abs(one.seconds) < last and first < one.ended + abs(one.seconds) for one in history.wrong_clocks
    )


def _marked(history: History) -> set[int]:
    return {one.id for one in history.instances if one.dag_run_id in history.marked}


def _untouched(history: History) -> list[Run]:
    return [run for run in history.runs if run.id not in history.marked and run.state in FINISHED_RUNS]


def _dag(history: History, dag_id: str) -> Dag:
    return history.dags.get(dag_id, _NOTHING)


def _shape(history: History, one: Instance) -> Shape:
    return _dag(history, one.dag_id).tasks.get(one.task_id, _SHAPELESS)


def _by_task(history: History) -> Mapping[int, Mapping[str, list[Instance]]]:
    """Return the instances of each run, by task."""
    found: dict[int, dict[str, list[Instance]]] = defaultdict(lambda: defaultdict(list))
    for one in history.instances:
        found[one.dag_run_id][one.task_id].append(one)
    return found


_NOTHING: Final = Dag()
_SHAPELESS: Final = Shape()

RULES: Final = (
    in_order,
    mapped_whole,
    torn_down,
    events_used_once,
    told_once,
    deadlines_fired,
    dates_filled,
    times_used_once,
    steps_done_once,
)
