"""What executors without workers share: nothing of theirs is ever lost or stopped, and a start is told from a workload.

The virtual executor of simulations is one, and those that benchmarks and tests put in a runner host's place.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from treadle_executors.executor import Executor, ExecutorEvent
from treadle_worker.protocol import Workload
from treadle_worker.workloads import subject_of


class WorkerlessExecutor(Executor):
    """An executor that holds attempts as mere data, in its scheduler's process."""

    def events(self) -> list[ExecutorEvent]:
        """Nothing is ever lost here."""
        return []

    def terminate(self, attempt_id: UUID, reason: str) -> None:
        """End nothing: what is reported of an attempt that was ended meanwhile is refused."""

    def adopt(self, attempt_ids: Iterable[UUID]) -> set[UUID]:
        """Hold nothing of another scheduler, whichever are asked for."""
        return set(attempt_ids) & set()


def start_report(workload: Workload, hostname: str, at: datetime) -> dict[str, Any]:
    """Return the report that an attempt starts; a report of its end has these fields, too."""
    return {
        "attempt_id": workload["attempt_id"],
        "task_instance_id": workload["task_instance_id"],
        "month": workload["month"],
        "hostname": hostname,
        "started_at": at.isoformat(),
        "subject": subject_of(workload),
    }
