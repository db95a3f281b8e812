"""The states of runs and task instances, and the dictionary of lawful moves.

This is the only list of them: ``transitions`` refuses a move that is not here, the tables' CHECK constraints are made
from the enums, and the chart in ``docs/reference/states.md`` is drawn from the dictionaries (specification section 6).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class RunState(StrEnum):
    """The state of a DAG run."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"


class TaskState(StrEnum):
    """The state of a task instance. ``NONE`` means created and not yet decided upon."""

    NONE = "none"
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    UPSTREAM_FAILED = "upstream_failed"
    UP_FOR_RETRY = "up_for_retry"
    UP_FOR_RESCHEDULE = "up_for_reschedule"
    DEFERRED = "deferred"
    REMOVED = "removed"
    RESTARTING = "restarting"


class CallbackState(StrEnum):
    """The state of a callback that the server has run: it waits, was handed to an executor, runs, is over."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"


class CallbackEvent(StrEnum):
    """What a callback tells of: the end of a run, an attempt's end that its process did not tell, a deadline."""

    RUN_SUCCESS = "run_success"
    RUN_FAILURE = "run_failure"
    TASK_FAILURE = "task_failure"
    TASK_RETRY = "task_retry"
    DEADLINE = "deadline"


R, T = RunState, TaskState

FINISHED_RUNS: Final = frozenset({R.SUCCESS, R.FAILED})
FINISHED: Final = frozenset({T.SUCCESS, T.FAILED, T.SKIPPED, T.UPSTREAM_FAILED, T.REMOVED})
ACTIVE: Final = frozenset({T.QUEUED, T.RUNNING, T.RESTARTING})
"""The states in which an attempt holds its slots and its lease."""

RUN_MOVES: Final[dict[RunState, frozenset[RunState]]] = {
    R.QUEUED: frozenset({R.RUNNING, R.SUCCESS, R.FAILED}),
    R.RUNNING: frozenset({R.SUCCESS, R.FAILED, R.QUEUED}),
    R.SUCCESS: frozenset({R.QUEUED, R.FAILED}),
    R.FAILED: frozenset({R.QUEUED, R.SUCCESS}),
}

_DECIDED = {T.SCHEDULED, T.SKIPPED, T.UPSTREAM_FAILED, T.REMOVED}
_MARKED = {T.SUCCESS, T.FAILED, T.SKIPPED}
"""What a person may mark, from every state but removed."""

TASK_MOVES: Final[dict[TaskState, frozenset[TaskState]]] = {
    T.NONE: frozenset(_DECIDED | _MARKED),
    T.SCHEDULED: frozenset({T.QUEUED, T.NONE, T.REMOVED} | _MARKED),
    T.QUEUED: frozenset({T.RUNNING, T.SCHEDULED, T.UP_FOR_RETRY, T.NONE} | _MARKED),
    T.RUNNING: frozenset({T.UP_FOR_RETRY, T.UP_FOR_RESCHEDULE, T.DEFERRED, T.RESTARTING, T.SCHEDULED} | _MARKED),
    T.RESTARTING: frozenset({T.NONE} | _MARKED),
    T.UP_FOR_RETRY: frozenset({T.SCHEDULED, T.NONE, T.REMOVED} | _MARKED),
    T.UP_FOR_RESCHEDULE: frozenset({T.SCHEDULED, T.NONE, T.REMOVED} | _MARKED),
    T.DEFERRED: frozenset({T.SCHEDULED, T.UP_FOR_RETRY, T.NONE} | _MARKED),
    T.SUCCESS: frozenset({T.NONE, T.REMOVED} | _MARKED),
    T.FAILED: frozenset({T.NONE, T.REMOVED} | _MARKED),
    T.SKIPPED: frozenset({T.NONE, T.REMOVED} | _MARKED),
    T.UPSTREAM_FAILED: frozenset({T.NONE, T.REMOVED} | _MARKED),
    T.REMOVED: frozenset({T.NONE}),
}


def may_follow(state: TaskState) -> tuple[TaskState, ...]:
    """Return the states from which a task instance may move to ``state``, sorted, as the guard of an UPDATE."""
    return tuple(sorted(old for old, following in TASK_MOVES.items() if state in following))


def runs_may_follow(state: RunState) -> tuple[RunState, ...]:
    """Return the states from which a run may move to ``state``, sorted."""
    return tuple(sorted(old for old, following in RUN_MOVES.items() if state in following))
