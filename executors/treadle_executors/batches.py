"""Reports on their way to the Execution API, and what it answers: plain values, without a database.

Apart from ``execution_api`` so that a worker machine, above all a pod that runs one attempt, imports no database
driver.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from treadle_worker.outcomes import error_of
from treadle_worker.protocol import FinishReport, Heartbeat, StartAnswer, StartReport

VERSION: Final = 1
"""Of the Execution API; raised when workers of the version before could not work with a newer server any more."""

VERSION_HEADER: Final = "Treadle-Execution-Version"


class ExecutionUnavailable(Exception):
    """The server cannot be reached just now; the same call may succeed later."""


class ExecutionFailing(ExecutionUnavailable):
    """The server was reached, and failed (500). It may recover; or it may be what it was sent, which never succeeds."""


@dataclass(slots=True)
class Batch:
    """Reports that are recorded together."""

    starts: list[StartReport] = field(default_factory=list)
    finishes: list[FinishReport] = field(default_factory=list)
    heartbeats: list[Heartbeat] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.starts) + len(self.finishes) + len(self.heartbeats)

    def split(self) -> list[Batch]:
        """Return the batch as batches of one report each, in the order in which they are to be recorded."""
        return [
            *(Batch(starts=[one]) for one in self.starts),
            *(Batch(finishes=[one]) for one in self.finishes),
            *(Batch(heartbeats=[one]) for one in self.heartbeats),
        ]


@dataclass(slots=True)
class Answers:
    """What the server says to a batch."""

    starts: list[StartAnswer] = field(default_factory=list)
    accepted: set[str] = field(default_factory=set)
    """Ids of the finishes that changed something."""
    ours: set[str] = field(default_factory=set)
    """Ids of the heartbeats whose attempt is still ours."""
    unsure: set[str] = field(default_factory=set)
    """Those of ``ours`` of which that is not known, so that their leases were not renewed."""


def without_payload(report: FinishReport, reason: str) -> FinishReport:
    """Return a finish as a failure without anything that user code supplied, for one that the server cannot store."""
    message = f"the server could not store the result of the attempt: {reason}".replace("\0", "\\0")
    return {
        **report,
        "outcome": "failed",
        "error": error_of("protocol", "ResultRefused", message.encode(errors="replace").decode()),
        "xcoms": [],
        "asset_events": [],
        "rendered_fields": None,
        "rendered_map_index": None,
    }
