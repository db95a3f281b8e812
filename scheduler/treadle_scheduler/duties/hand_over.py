"""Hand queued attempts to their executors. A crash before this is repaired by the attempts' leases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from treadle_executors.errors import meant
from treadle_metadata import execution
from treadle_scheduler.context import Context, Done
from treadle_worker.protocol import Workload


def hand_over(context: Context) -> Done:
    """Empty the outbox into the executors."""
    outbox, context.outbox = context.outbox, []
    by_executor: dict[str, list[Workload]] = {}
    for name, workload in outbox:
        by_executor.setdefault(name, []).append(workload)
    for name, workloads in by_executor.items():
        if name in context.executors:
            context.executors[name].queue(workloads)
        else:
            _refuse(context, name, workloads)
    return Done(len(outbox))


def _refuse(context: Context, name: str, workloads: Sequence[Workload]) -> None:
    """Charge attempts of tasks that name an executor which this installation does not have."""
    known = ", ".join(sorted(context.executors))
    reason = f"the task names the executor {name!r}; this scheduler has {known}{meant(name, context.executors)}"
    lost = [(UUID(one["attempt_id"]), one["task_instance_id"], date.fromisoformat(one["month"])) for one in workloads]
    context.database.run(lambda connection: execution.lose(connection, lost, reason, now=context.clock.now()))
