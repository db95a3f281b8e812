"""Give a ready mapped task its instances: as many as its mapped arguments have items.

Only the lengths of the upstream XComs are read, never their values. The placeholder (index -1) becomes instance 0.
When a cleared mapping is expanded again, it grows by new instances and shrinks by removed ones (case A35).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from math import prod
from typing import Any, Final

from sqlalchemy import Connection

from treadle.document import ExpandArgument
from treadle_metadata.deciding.graph import Graph
from treadle_metadata.planning import explain, mapped_length
from treadle_metadata.states import TaskState
from treadle_metadata.transitions import instances, runs
from treadle_scheduler.duties.start_runs import instance_row

MOST_INSTANCES: Final = 65_536
"""One list must not be able to fill the scheduler's memory."""


def expand(
    connection: Connection, run: Mapping[str, Any], graph: Graph, node_index: int, *, month: date, now: datetime
) -> None:
    """Expand one mapped task of one run, and schedule its instances; a mapping over nothing is skipped."""
    task = graph.nodes[node_index].task
    pair = (run["id"], task.task_id)
    arguments = task.expand.arguments if task.expand else ()
    lengths = [_length(connection, run, graph, one, month) for one in arguments]
    missing = [one for one, length in zip(arguments, lengths, strict=True) if length is None]
    if missing:
        reason = (
            f"cannot expand {task.task_id!r}: task {missing[0].task_id!r} pushed no list or dict as "
            f"XCom {missing[0].key!r}"
        )
        _fail(connection, pair, reason, month, now)
        return
    total = prod(length for length in lengths if length is not None)
    if total > MOST_INSTANCES:
        _fail(connection, pair, f"cannot expand {task.task_id!r} to {total} instances, the most is {MOST_INSTANCES}",
              month, now)  # fmt: skip
        return
    if total == 0:
        instances.keep_placeholder(connection, *pair, month=month, now=now)
        instances.decide(connection, [pair], TaskState.SKIPPED, month=month, now=now)
        runs.wake(connection, [(run["id"], now)])
        return
    instances.number_first(connection, run["id"], task.task_id, month=month)
    instances.bring_back(connection, run["id"], task.task_id, total, month=month)
    new = [instance_row(graph, node_index, run["id"], map_index, "scheduled") for map_index in range(total)]
    instances.insert_instances(connection, new, month=month, now=now)
    instances.remove_beyond(connection, run["id"], task.task_id, total, month=month, now=now)
    instances.decide(connection, [pair], TaskState.SCHEDULED, month=month, now=now)


def _fail(connection: Connection, pair: tuple[int, str], reason: str, month: date, now: datetime) -> None:
    instances.decide(connection, [pair], TaskState.FAILED, month=month, now=now)
    explain(connection, *pair, reason, month=month)
    runs.wake(connection, [(pair[0], now)])


def _length(
    connection: Connection, run: Mapping[str, Any], graph: Graph, argument: ExpandArgument, month: date
) -> int | None:
    if argument.task_id is None:
        return argument.length
    length = mapped_length(connection, run["id"], argument.task_id, argument.key, month=month)
    above = graph.index.get(argument.task_id)
    if length is None and above is not None and graph.nodes[above].task.expand is not None:
        return 0  # a mapping over nothing has handed on nothing (case A36)
    return length
