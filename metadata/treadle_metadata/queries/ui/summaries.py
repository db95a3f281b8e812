"""How the states of several instances are told as one: of a mapped task, of a group. Pure.

The state that a person must look at first wins; what is under way comes before what has ended well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from treadle_metadata.states import TaskState

T = TaskState

FIRST: Final[tuple[TaskState, ...]] = (
    T.FAILED,
    T.UPSTREAM_FAILED,
    T.UP_FOR_RETRY,
    T.UP_FOR_RESCHEDULE,
    T.QUEUED,
    T.SCHEDULED,
    T.DEFERRED,
    T.RUNNING,
    T.RESTARTING,
    T.NONE,
    T.SUCCESS,
    T.SKIPPED,
    T.REMOVED,
)
"""The states by what they say of a whole, the most telling first."""

_RANK: Final = {state.value: rank for rank, state in enumerate(FIRST)}


def state_of(counts: Mapping[str, int]) -> str:
    """Return the state that stands for instances counted by state; there must be one at least."""
    return next(iter(counts)) if len(counts) == 1 else min(counts, key=_RANK.__getitem__)


def add(into: dict[str, int], counts: Mapping[str, int]) -> None:
    """Add counts by state to others."""
    for state, number in counts.items():
        into[state] = into.get(state, 0) + number
