"""The promises about deferred tasks: each wait lasts its time, is gone on from once, and leaves no trigger behind.

Rules of ``bench.checker``, in its manner. ``begun_again`` and ``went_on`` tell its other rules what a deferral does to
a try: the attempt that deferred is no try by itself if it went on, and is one if somebody took the task away from it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from bench.records import DEFERRED, UNCHARGED, History, name_of, paths_of
from treadle_metadata.states import TaskState

TOLERANCE: Final = 0.05
"""Seconds by which two clocks of one machine may differ over a wait."""

Try = tuple[int, int]
"""An instance and the number of its try."""


def went_on(history: History) -> set[str]:
    """Return the attempts that deferred and whose try went on in another attempt."""
    taken = {
        move.attempt_id or "" for move in history.moves if (move.old, move.new) == (TaskState.DEFERRED, "scheduled")
    }
    return {one.id for one in history.attempts if one.outcome == DEFERRED and one.id in taken}


def begun_again(history: History) -> Counter[Try]:
    """Return how often the code of a try may have begun anew: it was given back, or cleared on its way to go on."""
    again = Counter((one.instance_id, one.try_number) for one in history.attempts if one.outcome in UNCHARGED)
    tries = {one.id: one.try_number for one in history.attempts if one.outcome == DEFERRED}
    for (entity, number), path in paths_of(history).items():
        going: int | None = None
        for move in path if entity == "task_instance" else ():
            if move.old == TaskState.DEFERRED and move.new == TaskState.SCHEDULED:
                going = tries.get(move.attempt_id or "")
            elif move.new not in (TaskState.SCHEDULED, TaskState.QUEUED):
                if going is not None and move.new not in (TaskState.RUNNING, TaskState.UP_FOR_RETRY, TaskState.FAILED):
                    again[number, going] += 1
                going = None
    return again


def waits_kept(history: History) -> Iterator[str]:
    """A deferred task goes on when its time is over, once for each event, through all its waits to its end."""
    first: dict[Try, dict[str, float]] = defaultdict(dict)
    counts: dict[Try, Counter[str]] = defaultdict(Counter)
    for sign in history.signs:
        key = sign.instance_id, sign.try_number
        counts[key][sign.kind] += 1
        first[key][sign.kind] = min(sign.at, first[key].get(sign.kind, sign.at))
        if sign.kind == "never":
            yield f"try {sign.try_number} of instance {sign.instance_id} went on from a wait that was not over"
    again, on = begun_again(history), _times_gone_on(history)
    for one in history.instances:
        waits = history.waits.get(one.dag_id, ())
        for number in range(1, one.try_number + 1) if waits else ():
            key = one.id, number
            for wrong in _wrong_with(waits, first[key], counts[key], again[key]):
                yield f"try {number} of {name_of(one)} {wrong}"
            events, gone = on[key], sum(counts[key][_kind(place)] for place in range(1, len(waits) + 1))
            if gone > events + again[key]:
                yield f"try {number} of {name_of(one)} went on {gone} times for {events} events"
        seen = counts[one.id, one.try_number]
        if waits and one.state == TaskState.SUCCESS and one.dag_run_id not in history.marked:
            missing = [place for place in range(1, len(waits) + 1) if not seen[_kind(place)]]
            if missing:
                yield f"{name_of(one)} succeeded at try {one.try_number} without its waits {missing}"


def triggers_forgotten(history: History) -> Iterator[str]:
    """When nobody waits any more there is no trigger, whoever was to cancel it."""
    if history.triggers:
        yield f"{history.triggers} triggers are left"


def _wrong_with(
    waits: tuple[float, ...], first: Mapping[str, float], counts: Mapping[str, int], again: int
) -> Iterator[str]:
    """Check one try: ``first`` is when each kind of sign was first seen."""
    before = "begin"
    for place, seconds in enumerate(waits, 1):
        kind = _kind(place)
        if counts[kind] > 1 + again:
            yield f"went on {counts[kind]} times from wait {place}"
        if kind in first and before not in first:
            yield f"went on from wait {place} and had not begun it"
        elif kind in first and first[kind] < first[before] + seconds - TOLERANCE:
            yield f"went on from wait {place} after {first[kind] - first[before]:.2f} s, its time is {seconds} s"
        before = kind


def _times_gone_on(history: History) -> Counter[Try]:
    on = went_on(history)
    return Counter((one.instance_id, one.try_number) for one in history.attempts if one.id in on)


def _kind(place: int) -> str:
    return f"resume{place}"


RULES: Final = (waits_kept, triggers_forgotten)
