"""What becomes of each attempt, told when it starts, from the durations and its document. Pure.

Every branch is taken and nothing is skipped, since no user code runs. A task over its ``execution_timeout`` fails then.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from treadle_scheduler.simulation.definitions import Definitions
from treadle_scheduler.simulation.durations import Durations
from treadle_scheduler.simulation.executor import Fate
from treadle_worker.protocol import Workload


class Fates:
    """Tells the fate of attempts."""

    def __init__(self, definitions: Definitions, durations: Durations) -> None:
        self._durations = durations
        self._mapped_over = definitions.mapped_over()
        self._outlets = definitions.outlets()

    def of(self, workload: Workload) -> Fate:
        """Return the fate of an attempt that starts now."""
        dag_id, task_id = workload["dag_id"], workload["task_id"]
        seconds = self._durations.seconds_of(dag_id, task_id)
        limit = workload["execution_timeout_seconds"]
        if limit is not None and seconds > limit:
            return Fate(limit, "failed")
        run_id, map_index, try_number = workload["run"]["run_id"], workload["map_index"], workload["try_number"]
        if self._durations.fails(dag_id, task_id, run_id, map_index, try_number):
            return Fate(seconds, "failed")
        return Fate(
            seconds,
            xcoms=self._results(dag_id, task_id, map_index),
            asset_events=self._updates(dag_id, task_id),
            awaits=self._awaited(workload),
        )

    def _results(self, dag_id: str, task_id: str, map_index: int) -> list[dict[str, Any]]:
        if map_index >= 0:
            return []
        return [
            {"key": key, "value": "null", "length": self._durations.items_of(dag_id, task_id, key)}
            for key in sorted(self._mapped_over.get((dag_id, task_id), ()))
        ]

    def _updates(self, dag_id: str, task_id: str) -> list[dict[str, Any]]:
        names = self._outlets.get((dag_id, task_id), ())
        return [{"name": name, "extra": {}, "aliases": [], "partition_key": None} for name in names]

    def _awaited(self, workload: Workload) -> tuple[str, datetime] | None:
        dag_id = self._durations.facts(workload["dag_id"], workload["task_id"]).waits_for
        logical_date = workload["run"]["logical_date"]
        if dag_id is None or logical_date is None:
            return None
        return dag_id, datetime.fromisoformat(logical_date)
