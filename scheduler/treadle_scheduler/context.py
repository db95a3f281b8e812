"""What the duties of one scheduler share, and what a duty answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

from treadle_executors.executor import Executor, ExecutorEvent
from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.deciding.graph import GraphCache
from treadle_metadata.deciding.turns import Turns
from treadle_metadata.settings import Settings
from treadle_scheduler.costs import Costs
from treadle_scheduler.custom_timetables import CustomTimetables
from treadle_scheduler.memory import Memory
from treadle_scheduler.quarantine import Quarantine
from treadle_worker.protocol import Workload

HELD_ELSEWHERE: Final = timedelta(milliseconds=20)
"""How soon to look again at what another scheduler holds at this moment: a run, a deadline, the right to queue."""


@dataclass(slots=True)
class Context:
    """One scheduler's database, clock, settings and executors, and what its duties hand to each other."""

    database: Database
    clock: Clock
    settings: Settings
    executors: Mapping[str, Executor]
    graphs: GraphCache = field(default_factory=GraphCache)
    costs: Costs = field(default_factory=Costs)
    """What single DAGs have cost the loop lately."""
    turns: Turns = field(default_factory=Turns)
    """Which DAG had its turn last when tasks were queued."""
    custom: CustomTimetables = field(default_factory=CustomTimetables)
    """The timetables of users' own, asked beside the loop."""
    memory: Memory = field(default_factory=Memory)
    """What is remembered of the runs under way."""
    quarantine: Quarantine = field(default_factory=Quarantine)
    """The runs that could not be advanced."""
    outbox: list[tuple[str, Workload]] = field(default_factory=list)
    """Attempts whose queued state is committed and that still have to be handed to their executor."""
    untold: list[ExecutorEvent] = field(default_factory=list)
    """What executors have told of attempts, and is not stored yet."""
    keys: Crypto | None = None
    """What the waits of deferred tasks are encrypted with; made when the first of them goes on."""
    under_way: int = 0
    """How many attempts all schedulers together had under way when tasks were queued last."""
    alone: bool = False
    """Whether no other scheduler works on this database, as in a simulation: what is ready is then known here."""
    may_queue: bool = True
    """Whether an instance may be ready to be queued: False once all that was found was queued, until one is made so.

    That counts only where this scheduler is alone: what another made ready, and could not queue, waits for the end of
    an attempt that this one hears of.
    """

    def crypto(self) -> Crypto:
        """Return what secrets are encrypted with.

        Raises:
            CryptoError: the setting ``fernet_key`` is empty or malformed.
        """
        if self.keys is None:
            self.keys = Crypto.of_setting(self.settings.fernet_key)
        return self.keys


@dataclass(frozen=True, slots=True)
class Done:
    """What a duty did, and when it wants to look again without being woken (None: only when woken)."""

    count: int = 0
    next_at: datetime | None = None
    again: bool = False
    """There was more than one batch: look again at once."""


class Duty(Protocol):
    """One duty of the beat: one transaction, in a file of its own under ``duties``."""

    __name__: str

    def __call__(self, context: Context) -> Done:
        """Do what is due."""
