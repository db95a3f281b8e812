"""Visits every state of the protocol's model, breadth first, and gives the shortest way to a broken promise."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tests.unit.protocol.protocol_model import FINISHED, Bounds, Rules, State, initial, steps

REPORTS = ("start", "beat", "finish")


@dataclass(frozen=True)
class Found:
    """A broken promise, and the steps that lead to it."""

    promise: str
    way: tuple[str, ...]


@dataclass(frozen=True)
class Explored:
    """What was visited: how many states and steps, and the first promise found broken, if any."""

    states: int
    steps: int
    found: Found | None


def explore(rules: Rules, bounds: Bounds) -> Explored:
    """Visit all states, or as many as it takes to find a broken promise."""
    first = initial(bounds)
    came_from: dict[State, tuple[State, str] | None] = {first: None}
    before: dict[State, list[State]] = {}
    waiting = deque([first])
    count = 0
    while waiting:
        state = waiting.popleft()
        for name, after in steps(state, rules, bounds):
            count += 1
            if after not in came_from:
                came_from[after] = (state, name)
                waiting.append(after)
            before.setdefault(after, []).append(state)
            broken = next(iter((*_broken_by(name, state, after), *_broken_in(after, rules))), None)
            if broken is not None:
                way = (*_way(came_from, state), name)
                return Explored(len(came_from), count, Found(broken, way))
    stuck = _never_ends(came_from, before, bounds)
    found = None if stuck is None else Found("every instance ends", _way(came_from, stuck))
    return Explored(len(came_from), count, found)


def _broken_in(state: State, rules: Rules) -> Iterator[str]:
    at_work = [one for one in state.runners if one.phase == "running"]
    if len(at_work) > 1:
        yield "never two attempts at work at the same time"
    if len(set(state.ended)) < len(state.ended):
        yield "each attempt is ended once"
    if len(state.begun) > state.instance.tries:
        yield "code runs only in tries that are charged"
    if state.instance.state == "success" and state.instance.attempt not in state.begun:
        yield "what succeeded has run"


def _broken_by(name: str, state: State, after: State) -> Iterator[str]:
    word, kind, number, *_ = (*name.split(), "", "", "")
    if word == "deliver" and kind in REPORTS and state.instance != after.instance:
        if state.instance.attempt != int(number):
            yield "a fenced attempt changes nothing"
    if state.instance.state in FINISHED and state.instance != after.instance and word != "clear":
        yield "what has ended stays as it is, unless it is cleared"


def _never_ends(came_from: dict[State, object], before: dict[State, list[State]], bounds: Bounds) -> State | None:
    """Return a state from which no end can be reached. Beyond the last attempt that is looked at, anything may be."""
    good = [
        state
        for state in came_from
        if state.instance.state in FINISHED or (state.instance.state == "scheduled" and state.made == bounds.attempts)
    ]
    reached = set(good)
    while good:
        for state in before.get(good.pop(), ()):
            if state not in reached:
                reached.add(state)
                good.append(state)
    return next((state for state in came_from if state not in reached), None)


def _way(came_from: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    names = []
    step = came_from[state]
    while step is not None:
        names.append(step[1])
        step = came_from[step[0]]
    return tuple(reversed(names))
