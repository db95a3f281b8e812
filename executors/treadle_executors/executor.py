"""The contract of all executors. An executor carries attempts to workers; it knows no dependency and decides no state.

Implementations stand beside this file; ``conformance`` holds the tests that each of them passes.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExecutorEvent:
    """Something that happened to an attempt outside of its own reports.

    ``lost``: the executor knows that the attempt will never report (its host died). ``rejected``: it could not be
    handed over. ``handed_back``: the executor was stopped before the attempt was over; another is to make the same try,
    free of charge. ``reason`` is one sentence for people.
    """

    kind: Literal["lost", "rejected", "handed_back"]
    attempt_id: UUID
    reason: str


def rejection(attempt_id: object, problem: str) -> ExecutorEvent | None:
    """Return the event that a workload cannot run, for the reason ``problem``; without a usable id it is logged."""
    try:
        return ExecutorEvent("rejected", UUID(str(attempt_id)), problem)
    except ValueError:
        log.error("an attempt without a usable id was handed over: %s", problem)
        return None


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why attempts do not start, as one sentence for people; with ``queue``, those of that queue only."""

    sentence: str
    queue: str | None = None


class Executor(ABC):
    """Carries attempts to workers (specification section 8, plus adoption)."""

    name: str
    slots: int
    """How many attempts it can hold at once; the scheduler never hands over more. A few callbacks come on top."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.settings = settings

    @abstractmethod
    def start(self, on_event: Callable[[], None]) -> None:
        """Begin work. ``on_event`` is called, from any thread, when the scheduler should look again."""

    @abstractmethod
    def queue(self, workloads: Iterable[Workload]) -> None:
        """Take over attempts whose ``queued`` state is already committed. Must not block on a worker.

        A workload with ``callback`` is run like an attempt; its reports carry the same attempt id and the ``subject``.
        """

    @abstractmethod
    def events(self) -> list[ExecutorEvent]:
        """Return what happened since the last call."""

    def troubles(self) -> list[Trouble]:
        """Return what keeps attempts from being started just now, for people who ask why; most executors know none."""
        return []

    @abstractmethod
    def terminate(self, attempt_id: UUID, reason: str) -> None:
        """End an attempt's processes, if this executor holds it; otherwise do nothing."""

    @abstractmethod
    def adopt(self, attempt_ids: Iterable[UUID]) -> set[UUID]:
        """Return those of the attempts (of a scheduler that died) that this executor still holds or now watches."""

    @abstractmethod
    def end(self) -> None:
        """Stop: take nothing new, and release every resource.

        Attempts whose workers end with the executor are ended and handed back: by their reports, or by events that
        ``events`` returns afterwards. Those whose workers are elsewhere go on, for another scheduler to adopt.
        """
