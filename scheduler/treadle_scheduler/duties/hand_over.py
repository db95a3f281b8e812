"""Hand queued attempts to their executors. A crash before this is repaired by the attempts' leases.

So is an executor that fails to take over what is its own; the others get theirs all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import date
from uuid import UUID

from treadle_executors.errors import meant
from treadle_metadata import execution
from treadle_scheduler.context import Context, Done
from treadle_worker.protocol import Workload

log = logging.getLogger(__name__)


def hand_over(context: Context) -> Done:
    """Empty the outbox into the executors."""
    outbox, context.outbox = context.outbox, []
    by_executor: dict[str, list[Workload]] = {}
    for name, workload in outbox:
        by_executor.setdefault(name, []).append(workload)
    unknown = by_executor.keys() - context.executors.keys()
    for name in by_executor.keys() - unknown:
        _hand(context, name, by_executor[name])
    for name in unknown:
        _refuse(context, name, by_executor[name])
    return Done(len(outbox))


def _hand(context: Context, name: str, workloads: Sequence[Workload]) -> None:
    try:
        context.executors[name].queue(workloads)
    except Exception:
        told = "executor %r failed to take %d attempts over; they are queued again when their leases of %g s are over"
        log.exception(told, name, len(workloads), context.settings.lease_seconds)


def _refuse(context: Context, name: str, workloads: Sequence[Workload]) -> None:
    """Charge attempts of tasks that name an executor which this installation does not have."""
    known = ", ".join(sorted(context.executors))
    reason = f"the task names the executor {name!r}; this scheduler has {known}{meant(name, context.executors)}"
    lost = [(UUID(one["attempt_id"]), one["task_instance_id"], date.fromisoformat(one["month"])) for one in workloads]
    context.database.run(lambda connection: execution.lose(connection, lost, reason, now=context.clock.now()))
