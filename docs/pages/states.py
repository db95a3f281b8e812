"""The page of states, from the dictionaries of lawful moves in ``treadle_metadata.states``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from docs.pages.markdown import code, table

from treadle_metadata.states import ACTIVE, FINISHED, FINISHED_RUNS, RUN_MOVES, TASK_MOVES, RunState, TaskState

S = TypeVar("S", bound=StrEnum)

RUN_MEANINGS = {
    RunState.QUEUED: "made, waits for its time, for the run limit of its DAG, or for the DAG to be unpaused",
    RunState.RUNNING: "its tasks are being run",
    RunState.SUCCESS: "all its leaf tasks succeeded or were skipped",
    RunState.FAILED: "a leaf task failed or could not run, or the run took longer than its `dagrun_timeout`",
}
TASK_MEANINGS = {
    TaskState.NONE: "made, not yet decided upon: its upstream tasks are not done",
    TaskState.SCHEDULED: "may run as far as its trigger rule goes; waits for a slot of its pool and the other limits",
    TaskState.QUEUED: "has an attempt, which was handed to an executor",
    TaskState.RUNNING: "a process runs it, and renews its lease",
    TaskState.SUCCESS: "it ended well",
    TaskState.FAILED: "its last try failed, or it said that no other try would help",
    TaskState.SKIPPED: "its trigger rule or its own code decided that it need not run",
    TaskState.UPSTREAM_FAILED: "its trigger rule can no longer be met, since something before it failed",
    TaskState.UP_FOR_RETRY: "a try failed and others are left; waits for its retry delay",
    TaskState.UP_FOR_RESCHEDULE: "it asked to be looked at again later, and holds no slot meanwhile",
    TaskState.DEFERRED: "it waits for an event without a process",
    TaskState.REMOVED: "its task or map index is gone from the DAG",
    TaskState.RESTARTING: "it was cleared while it ran; its process is being ended",
}
PREFACE = """\
# States

A state changes only along the moves below. Each change is one guarded statement that names the states it may come
from; a report that comes too late changes nothing. In tests the database itself refuses any other move.
"""


def page() -> str:
    """Return the page."""
    finished_runs, finished, active = (
        ", ".join(code(one) for one in kind if one in known)
        for kind, known in ((RunState, FINISHED_RUNS), (TaskState, FINISHED), (TaskState, ACTIVE))
    )
    return "\n".join(
        (
            PREFACE,
            "## Runs\n",
            table(("state", "meaning", "may become"), _lines(RUN_MEANINGS, RUN_MOVES)),
            f"\nFinished: {finished_runs}. A finished run is reopened (`queued`) when a task of it is cleared.\n",
            _chart(RUN_MOVES),
            "\n## Task instances\n",
            table(("state", "meaning", "may become"), _lines(TASK_MEANINGS, TASK_MOVES)),
            f"\nFinished: {finished}. In {active} an attempt holds its slots and its lease.",
            "Clearing moves an instance to `none` (a running one by way of `restarting`). Marking moves it to",
            "`success`, `failed` or `skipped` from every state but `removed`.\n",
            _chart(TASK_MOVES),
        )
    )


def _lines(meanings: Mapping[S, str], moves: Mapping[S, frozenset[S]]) -> list[tuple[str, str, str]]:
    return [
        (code(state), meanings[state], ", ".join(code(one) for one in type(state) if one in following))
        for state, following in moves.items()
    ]


def _chart(moves: Mapping[S, frozenset[S]]) -> str:
    """Return the moves as a matrix: a row for where a move starts, a column for where it ends."""
    states = list(type(next(iter(moves))))
    width = max(len(state) for state in states)
    # The last column's title stands highest, so that each title is joined to its column by an unbroken line.
    head = [" " * (width + 2) + "│ " * place + "┌ " + state for place, state in enumerate(states)][::-1]
    rows = [f"{state:>{width}}  " + " ".join("●" if one in moves[state] else "·" for one in states) for state in states]
    return "\n".join(("```text", *head, *rows, "```", "", "A dot: the row's state may become the column's."))
