"""What single DAGs cost the loop: how often their runs were decided on, and how long that took (case B15).

Kept in memory by ``advancing`` and logged by the duty ``tell_costs``, so that a DAG that slows the others down has a
name. A scheduler that is killed loses the figures of a few minutes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime


@dataclass(slots=True)
class Cost:
    """The decisions on the runs of one DAG since they were told of last."""

    dag_id: str
    decisions: int = 0
    seconds: float = 0.0
    longest_seconds: float = 0.0

    def __str__(self) -> str:
        """Return the figures as part of a log line."""
        return (
            f"{self.dag_id}: {self.decisions} decisions in {self.seconds:.3f} s, "
            f"{self.seconds / max(1, self.decisions) * 1000:.2f} ms each, longest {self.longest_seconds * 1000:.2f} ms"
        )


class Costs:
    """The costs of all DAGs."""

    def __init__(self) -> None:
        self._costs: dict[str, Cost] = {}
        self.since: datetime | None = None
        """From when on they are counted."""

    @contextmanager
    def of(self, dag_id: str) -> Iterator[None]:
        """Count the block as one decision on a run of ``dag_id``."""
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        cost = self._costs.setdefault(dag_id, Cost(dag_id))
        cost.decisions += 1
        cost.seconds += seconds
        cost.longest_seconds = max(cost.longest_seconds, seconds)

    def take(self, most: int) -> list[Cost]:
        """Return the costliest DAGs, the worst first, and begin anew."""
        costs, self._costs = self._costs, {}
        return sorted(costs.values(), key=lambda cost: cost.seconds, reverse=True)[:most]
