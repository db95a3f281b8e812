"""One attempt as the host knows it, from its arrival to its report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from treadle_worker.outcomes import Cause
from treadle_worker.protocol import Workload
from treadle_worker.task_log import TaskLog

if TYPE_CHECKING:
    from treadle_worker.event_loop import Timer
    from treadle_worker.runner import Runner
    from treadle_worker.templates import Template


@dataclass(slots=True, eq=False)
class Attempt:
    """An attempt between its arrival and its report."""

    workload: Workload
    started_at: str
    log: TaskLog
    shared: bool
    """Whether its child may have run others before it."""
    accepted: bool = False
    """Whether the server has agreed to its start."""
    begin_by: float = 0.0
    """When its lease ends as things stand, on the machine's monotonic clock: its code must not begin after that."""
    journal: dict[str, Any] | None = None
    """What came with that agreement, for its child (``StartAnswer``)."""
    template: Template | None = None
    runner: Runner | None = None
    cause: Cause = Cause.NOTHING
    reason: str = ""
    timers: list[Timer] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The attempt id."""
        return self.workload["attempt_id"]

    def cancel_timers(self) -> None:
        """Void every pending time limit."""
        for timer in self.timers:
            timer.cancel()
