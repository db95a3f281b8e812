"""Hand queued attempts to their executors. A crash before this is repaired by the attempts' leases."""

from __future__ import annotations

from treadle_scheduler.context import Context, Done
from treadle_worker.protocol import Workload


def hand_over(context: Context) -> Done:
    """Empty the outbox into the executors."""
    outbox, context.outbox = context.outbox, []
    by_executor: dict[str, list[Workload]] = {}
    for name, workload in outbox:
        by_executor.setdefault(name, []).append(workload)
    for name, workloads in by_executor.items():
        context.executors[name].queue(workloads)
    return Done(len(outbox))
