"""Ending runs before their time: a person marks one, cancels its backfill, or its time limit is over.

Everything in such a run ends with it, so that none of its tasks starts or stays undecided, and the run after it is
told. Only teardowns whose setups succeeded still run: until then the run is running, with the state that it is going
to in its column ``ending``, so that any scheduler finishes it after a crash (case A40). The caller holds the runs'
rows, so that no scheduler gives them further instances meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.connection import TERMINATE
from treadle_metadata.deciding.graph import Graph, GraphCache
from treadle_metadata.planning import state_counts
from treadle_metadata.statements import execute, tuples
from treadle_metadata.states import ACTIVE, FINISHED, RunState, TaskState
from treadle_metadata.transitions import callbacks, instances, runs

_TERMINATE: Final = """
    SELECT pg_notify(%(channel)s, attempt_id || ' ' || %(why)s) FROM unnest(%(attempt_ids)s::text[]) AS attempt_id
"""
_LONGEST_WHY: Final = 1000
"""Characters; PostgreSQL refuses a notice of 8000 bytes."""


def end_runs(
    connection: Connection,
    dag_run_ids: Sequence[int],
    state: RunState,
    *,
    graphs: Mapping[int, Graph] | None = None,
    month: date,
    now: datetime,
    reason: str = "marked",
    told: str | None = None,
    why: str | None = None,
) -> set[int]:
    """End runs of one month in ``state``: what is under way takes it too and is stopped, what has not is skipped.

    Returns the runs that go on to their teardowns. ``graphs`` are those of the runs' versions, if they are at hand.
    ``reason`` is what callbacks of the DAG are told. ``told`` is the error that callbacks of the tasks under way are
    told of; without it they are not called, as with all that people mark. ``why`` is what their attempts are told
    then: by default that somebody marked the run.
    """
    if not dag_run_ids:
        return set()
    found = tuples(connection, "SELECT id, version_id FROM dag_run WHERE id = ANY(%(ids)s)", {"ids": list(dag_run_ids)})
    # Of a version that cannot be read, no teardown is known: its runs end at once.
    why = why or told or f"its run was marked {state}"
    graphs = graphs or GraphCache().usable(connection, {row[1] for row in found})[0]
    of_run = {row[0]: graphs[row[1]] for row in found if row[1] in graphs}
    counts = state_counts(connection, [run for run, graph in of_run.items() if _teardowns(graph)], month=month)
    going_on = {run for run, states in counts.items() if must_tear_down(of_run[run], states, state)}
    over = [row[0] for row in found if row[0] not in going_on]
    stop_tasks(connection, over, TaskState(state.value), month=month, now=now, told=told, why=why)
    spared: dict[tuple[str, ...], list[int]] = {}
    for run in sorted(going_on):
        spared.setdefault(_teardowns(of_run[run]), []).append(run)
    for sparing, ids in spared.items():
        stop_tasks(connection, ids, TaskState(state.value), sparing=sparing, month=month, now=now, told=told, why=why)
    runs.finish(connection, over, state, now=now, reason=reason)
    runs.wake_following(connection, over, now=now)
    runs.let_end(connection, sorted(going_on), state, reason, now=now)
    return going_on


def _teardowns(graph: Graph) -> tuple[str, ...]:
    return tuple(node.task.task_id for node in graph.nodes if node.task.is_teardown)


def must_tear_down(graph: Graph, states: Mapping[str, Mapping[str, int]], state: RunState) -> bool:
    """Tell whether a teardown is under way, or may have something to tear down; the scheduler decides exactly.

    A setup under way takes the run's ``state``: stopped half-way in a run marked a success, it is one, too.
    """
    done = {TaskState.SUCCESS.value} | (set(ACTIVE) if state is RunState.SUCCESS else set())
    for node in graph.nodes:
        own = states.get(node.task.task_id, {})
        unfinished = {state for state, count in own.items() if count and state not in FINISHED}
        if not node.task.is_teardown or not unfinished:
            continue
        succeeded = any(states.get(setup, {}).get(one) for setup in node.task.setups for one in done)
        if unfinished - {TaskState.NONE} or succeeded or not node.task.setups:
            return True
    return False


def stop_tasks(
    connection: Connection,
    dag_run_ids: Sequence[int],
    state: TaskState,
    *,
    sparing: Sequence[str] = (),
    month: date,
    now: datetime,
    told: str | None = None,
    why: str | None = None,
) -> None:
    """End all that is not finished in these runs, but the tasks ``sparing``; what is under way takes ``state``.

    ``told`` is the error that callbacks of the attempts under way are told of, if they are to be called; ``why`` is
    what the attempts themselves are told, if it is not that.
    """
    why = why or told or "its run ended"
    moved = instances.end(connection, dag_run_ids, state, sparing=sparing, month=month, now=now, why=why)
    if told is not None:
        error = {"kind": "terminated", "type": "TaskTerminated", "message": told}
        ended = [row[2] for row in moved if row[3] in (TaskState.RUNNING, TaskState.RESTARTING)]
        callbacks.tell_of_attempts(connection, ended, month=month, now=now, error=error)
    tell_workers(connection, moved, why)


def tell_workers(connection: Connection, moved: Iterable[Sequence[Any]], why: str) -> None:
    """Have the attempts that were under way ended, and told ``why``.

    ``moved`` is what a move of ``transitions.instances`` returned.
    """
    under_way = [str(attempt_id) for _, _, attempt_id, before in moved if before in ACTIVE]
    if under_way:
        execute(connection, _TERMINATE, {"channel": TERMINATE, "attempt_ids": under_way, "why": why[:_LONGEST_WHY]})


def read_order(payload: str) -> tuple[UUID, str]:
    """Return the attempt that a notice orders to be ended, and why; empty where the notice does not say.

    Of ``tell_workers`` and of ``work.order_end``.

    Raises:
        ValueError: it names no attempt.
    """
    name, _, why = payload.partition(" ")
    return UUID(name), why
