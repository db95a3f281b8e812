"""Visits every state of the protocol's model, breadth first, and gives the shortest way to a broken promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    states = [initial(bounds)]
    numbers = {states[0]: 0}
    came_from: list[tuple[int, str]] = [(0, "")]
    before: list[list[int]] = [[]]
    count = 0
    for here, state in enumerate(states):  # grows on the way
        for name, after in steps(state, rules, bounds):
            count += 1
            there = numbers.setdefault(after, len(states))
            if there == len(states):
                states.append(after)
                came_from.append((here, name))
                before.append([])
            before[there].append(here)
            broken = [*_broken_by(name, state, after), *_broken_in(after)]
            if broken:
                return Explored(len(states), count, Found(broken[0], (*_way(came_from, here), name)))
    stuck = _never_ends(states, before, bounds)
    found = None if stuck is None else Found("every instance ends", _way(came_from, stuck))
    return Explored(len(states), count, found)


def _broken_in(state: State) -> Iterator[str]:
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
    if state.instance == after.instance:
        return
    if word == "deliver" and kind in REPORTS and state.instance.attempt != int(number):
        yield "a fenced attempt changes nothing"
    if state.instance.state in FINISHED and word != "clear":
        yield "what has ended stays as it is, unless it is cleared"


def _never_ends(states: Sequence[State], before: Sequence[Sequence[int]], bounds: Bounds) -> int | None:
    """Return a state from which no end can be reached. Beyond the last attempt that is looked at, anything may be."""
    good = [number for number, state in enumerate(states) if _is_good(state, bounds)]
    reached = set(good)
    while good:
        for number in before[good.pop()]:
            if number not in reached:
                reached.add(number)
                good.append(number)
    return next((number for number in range(len(states)) if number not in reached), None)


def _is_good(state: State, bounds: Bounds) -> bool:
    is_beyond = state.instance.state == "scheduled" and state.made == bounds.attempts
    return state.instance.state in FINISHED or is_beyond


def _way(came_from: Sequence[tuple[int, str]], number: int) -> tuple[str, ...]:
    names = []
    while number:
        number, name = came_from[number]
        names.append(name)
    return tuple(reversed(names))
