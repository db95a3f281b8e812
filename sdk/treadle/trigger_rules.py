"""Trigger rules: may a task start, seen from the states of its direct upstream tasks?

The scheduler's readiness check and ``dag.test()`` call :func:`evaluate` with plain counts. It is pure: no
database, no clock, so a crash leaves nothing behind. ``docs/reference/trigger-rules.md`` is printed by
:func:`truth_table`.

Two principles hold for every rule. An upstream instance that was *removed* (its task or map index is gone)
counts as if it had never been there. *upstream_failed* counts as failed, except for ``one_done``, which wants
a task that ran.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Final, Literal

from treadle.errors import UnknownTriggerRule
from treadle.rules import TriggerRule

__all__ = ["Action", "TriggerRule", "UnknownTriggerRule", "UpstreamCounts", "Verdict", "evaluate", "truth_table"]

Action = Literal["run", "wait", "skip", "upstream_fail"]


@dataclass(slots=True)
class UpstreamCounts:
    """How many direct upstream instances there are, and in which state.

    ``done`` counts the finished ones: success, failed, skipped, upstream_failed and removed together. The
    ``setups_`` counts are those of them that are instances of setups, for ``all_done_setup_success`` alone:
    upstream_failed is in ``setups_failed``, removed ones are in ``setups_total`` only.
    """

    total: int = 0
    success: int = 0
    failed: int = 0
    skipped: int = 0
    upstream_failed: int = 0
    removed: int = 0
    done: int = 0
    setups_total: int = 0
    setups_success: int = 0
    setups_skipped: int = 0
    setups_failed: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with the task, and the reason in words for people.

    ``run``: it may start. ``wait``: undecided until more upstream tasks finish. ``skip``, ``upstream_fail``:
    no later change upstream can let it start, so it ends in the state skipped or upstream_failed.
    """

    action: Action
    reason: str


@dataclass(frozen=True, slots=True)
class _Tally:
    """The counts as the rules read them: removed instances are out, upstream_failed is in ``failed``."""

    live: int
    success: int
    failed: int
    skipped: int
    ran: int
    waiting: int
    setups_success: int = 0
    setups_skipped: int = 0
    setups_failed: int = 0

    @property
    def nothing_succeeded(self) -> Action:
        """Return the end of a task that needed a success when all is done and none came (cases A32, A34)."""
        return "upstream_fail" if self.failed else "skip"


def _all_success(t: _Tally) -> Action:
    if t.failed:
        return "upstream_fail"
    if t.skipped:
        return "skip"
    return "wait" if t.waiting else "run"


def _all_failed(t: _Tally) -> Action:
    if t.success or t.skipped:
        return "skip"
    return "wait" if t.waiting else "run"


def _all_done(t: _Tally) -> Action:
    return "wait" if t.waiting else "run"


def _all_done_min_one_success(t: _Tally) -> Action:
    if t.skipped:
        return "skip"
    if t.waiting:
        return "wait"
    return "run" if t.success else t.nothing_succeeded


def _all_done_setup_success(t: _Tally) -> Action:
    if t.waiting:
        return "wait"
    if t.setups_success or not (t.setups_skipped or t.setups_failed):
        return "run"
    return "upstream_fail" if t.setups_failed else "skip"


def _one_success(t: _Tally) -> Action:
    if t.success:
        return "run"
    return "wait" if t.waiting else t.nothing_succeeded


def _one_failed(t: _Tally) -> Action:
    if t.failed:
        return "run"
    return "wait" if t.waiting else "skip"


def _one_done(t: _Tally) -> Action:
    if t.ran:
        return "run"
    return "wait" if t.waiting else "skip"


def _none_failed(t: _Tally) -> Action:
    if t.failed:
        return "upstream_fail"
    return "wait" if t.waiting else "run"


def _none_failed_min_one_success(t: _Tally) -> Action:
    if t.failed:
        return "upstream_fail"
    if t.waiting:
        return "wait"
    return "run" if t.success else "skip"


def _none_skipped(t: _Tally) -> Action:
    if t.skipped:
        return "skip"
    return "wait" if t.waiting else "run"


def _all_skipped(t: _Tally) -> Action:
    if t.success or t.failed:
        return "skip"
    return "wait" if t.waiting else "run"


def _always(_: _Tally) -> Action:
    return "run"


_RULES: Final[dict[str, tuple[Callable[[_Tally], Action], str]]] = {
    "all_success": (_all_success, "all must succeed"),
    "all_failed": (_all_failed, "all must fail"),
    "all_done": (_all_done, "all must finish"),
    "all_done_min_one_success": (
        _all_done_min_one_success,
        "all must finish, none skipped, at least one must succeed",
    ),
    "all_done_setup_success": (
        _all_done_setup_success,
        "all must finish, and of the setups among them at least one must succeed",
    ),
    "one_success": (_one_success, "one must succeed"),
    "one_failed": (_one_failed, "one must fail"),
    "one_done": (_one_done, "one must succeed or fail"),
    "none_failed": (_none_failed, "all must finish, none may fail"),
    "none_failed_min_one_success": (
        _none_failed_min_one_success,
        "all must finish, none may fail, at least one must succeed",
    ),
    "none_skipped": (_none_skipped, "all must finish, none may be skipped"),
    "all_skipped": (_all_skipped, "all must be skipped"),
    "always": (_always, "starts at once, whatever the upstream tasks do"),
}
"""Each rule: its decision and what it wants, in words."""

RULES: Final = tuple(_RULES)
"""The names of all rules, in the order of the documentation."""


def evaluate(rule: str, counts: UpstreamCounts) -> Verdict:
    """Return what ``rule`` says about a task whose upstream instances are counted by state in ``counts``.

    A task without upstream tasks runs. Verdicts are remembered by their counts: a scheduler asks about few
    different ones, and asks for each decision it makes. Raises :class:`UnknownTriggerRule`.
    """
    return _evaluate(
        rule,
        counts.total,
        counts.success,
        counts.failed,
        counts.skipped,
        counts.upstream_failed,
        counts.removed,
        counts.done,
        (counts.setups_success, counts.setups_skipped, counts.setups_failed),
    )


def is_patient(rule: str) -> bool:
    """Tell whether the end of one upstream instance in success settles nothing, as long as others are unfinished.

    A scheduler need not look at a task with such a rule while what is above it goes well. Raises
    :class:`UnknownTriggerRule`.
    """
    return evaluate(rule, UpstreamCounts(total=2, success=1, done=1)).action == "wait"


@lru_cache(maxsize=16384)
def _evaluate(
    rule: str,
    total: int,
    success: int,
    failed: int,
    skipped: int,
    upstream_failed: int,
    removed: int,
    done: int,
    setups: tuple[int, int, int],
) -> Verdict:
    try:
        decide, goal = _RULES[rule]
    except KeyError:
        raise UnknownTriggerRule(rule, RULES) from None
    if total == 0:
        return Verdict("run", "has no upstream tasks")
    tally = _Tally(
        live=total - removed,
        success=success,
        failed=failed + upstream_failed,
        skipped=skipped,
        ran=success + failed,
        waiting=total - done,
        setups_success=setups[0],
        setups_skipped=setups[1],
        setups_failed=setups[2],
    )
    action = decide(tally)
    return Verdict(action, _reason(action, str(rule), goal, tally))


def _reason(action: Action, rule: str, goal: str, tally: _Tally) -> str:
    if rule == "always":
        return goal
    if action == "wait":
        noun = "task" if tally.live == 1 else "tasks"
        return f"waits for {tally.waiting} of {tally.live} upstream {noun}: {goal} ({rule})"
    found = _found(tally)
    if action == "run":
        return f"may run: {found} ({rule}: {goal})"
    end = "skipped" if action == "skip" else "upstream_failed"
    return f"{end}: {found}{_setups(rule, tally)}, but {goal} ({rule})"


def _setups(rule: str, tally: _Tally) -> str:
    if rule != "all_done_setup_success":
        return ""
    parts = ((tally.setups_failed, "failed"), (tally.setups_skipped, "skipped"))
    return "; of the setups: " + ", ".join(f"{count} {word}" for count, word in parts if count)


def _found(tally: _Tally) -> str:
    if tally.live == 0:
        return "every upstream instance was removed"
    parts = (
        (tally.success, "succeeded"),
        (tally.failed, "failed"),
        (tally.skipped, "skipped"),
        (tally.waiting, "unfinished"),
    )
    return f"of {tally.live} upstream: " + ", ".join(f"{count} {word}" for count, word in parts if count)


_SHOWN = ("success", "failed", "upstream_failed", "skipped", "removed", "unfinished")
_SIGNS: Final[dict[Action, str]] = {"run": "**run**", "wait": "wait", "skip": "skip", "upstream_fail": "fail"}
_PREFACE = """\
# Trigger rules

<!-- Printed by `python -m treadle.trigger_rules`; a test compares. Do not edit by hand. -->

A trigger rule says from the states of a task's direct upstream tasks whether the task may start.
Set it with `trigger_rule="one_success"` on the task; the default is `all_success`.

A task without upstream tasks always runs. An upstream instance that was removed (its task or map index is
gone) counts as if it had never been there. `upstream_failed` counts as failed, except for `one_done`, which
wants a task that ran.

## What each rule wants
"""
_TABLE_PREFACE = """\
## Truth table for two upstream tasks

**run**: the task may start. wait: undecided until more upstream tasks finish. skip: the task ends as
`skipped`. fail: the task ends as `upstream_failed`. A task ends early, as soon as its rule can no longer be
met.
"""


_SETUP_PREFACE = """\
## Truth table of `all_done_setup_success`

The rule of teardowns: for one setup and one task of its scope. A teardown without setups is as with `all_done`.
"""


def truth_table() -> str:
    """Return the page ``docs/reference/trigger-rules.md``: every rule for every pair of upstream states."""
    goals = [
        "| rule | wants |",
        "| --- | --- |",
        *(f"| `{name}` | {goal} |" for name, (_, goal) in _RULES.items()),
    ]
    head = [
        "| upstream | " + " | ".join(f"`{name}`" for name in RULES) + " |",
        "| --- |" + " --- |" * len(RULES),
    ]
    pairs = [_row(pair) for pair in combinations_with_replacement(_SHOWN, 2)]
    ends = [
        "| setup | " + " | ".join(f"task {state}" for state in _SHOWN) + " |",
        "| --- |" + " --- |" * len(_SHOWN),
        *map(_setup_row, _SHOWN),
    ]
    return "\n".join([_PREFACE, *goals, "", _TABLE_PREFACE, *head, *pairs, "", _SETUP_PREFACE, *ends, ""])


def _row(states: tuple[str, ...]) -> str:
    cells = (_SIGNS[evaluate(name, _counted(states)).action] for name in RULES)
    return f"| {', '.join(states)} | " + " | ".join(cells) + " |"


def _setup_row(setup: str) -> str:
    found = "failed" if setup == "upstream_failed" else setup
    cells = []
    for state in _SHOWN:
        counts = _counted((setup, state))
        counts.setups_total = 1
        if found in ("success", "failed", "skipped"):
            setattr(counts, f"setups_{found}", 1)
        cells.append(_SIGNS[evaluate("all_done_setup_success", counts).action])
    return f"| {setup} | " + " | ".join(cells) + " |"


def _counted(states: tuple[str, ...]) -> UpstreamCounts:
    counts = UpstreamCounts(total=len(states))
    for state in states:
        if state != "unfinished":
            setattr(counts, state, getattr(counts, state) + 1)
            counts.done += 1
    return counts


if __name__ == "__main__":
    print(truth_table(), end="")
