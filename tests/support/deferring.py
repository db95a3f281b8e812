"""Deferred tasks without workers: attempts that end as told, triggers claimed and fired by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from treadle_metadata import deferrals, trigger_events, triggerers
from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto, new_key
from treadle_metadata.statements import rows
from treadle_metadata.triggerers import Triggerer
from treadle_worker.protocol import Workload

KEY = new_key()
CRYPTO = Crypto([KEY])


def deferral(**changes: Any) -> dict[str, Any]:
    """Return what an attempt reports that is deferred, sealed as the Execution API seals it."""
    plain = {
        "classpath": "somewhere.Trigger",
        "kwargs": json.dumps({"secret": "sesame"}),
        "weight": 1,
        "next_method": "go_on",
        "next_kwargs": "{}",
        "timeout_seconds": None,
        "execution_timeout_seconds": None,
    }
    (report,) = deferrals.sealed([{"deferral": plain | changes}], CRYPTO)
    return {"outcome": "deferred", "deferral": report["deferral"]}


def deferring(**changes: Any) -> Callable[[Workload], dict[str, Any]]:
    """Return the outcome of attempts that are deferred when they begin, and succeed when they go on."""

    def outcome(workload: Workload) -> dict[str, Any]:
        return {"outcome": "success"} if "resume" in workload else deferral(**changes)

    return outcome


class HandTriggerer:
    """A triggerer of the test's own: it takes, fires and gives back as it is told."""

    def __init__(self, database: Database, clock: Clock, *, capacity: int = 1000, pid: int = 1) -> None:
        self.database = database
        self.clock = clock
        self.capacity = capacity
        self.pid = pid
        self.id: UUID | None = None
        self.held: dict[int, Mapping[str, Any]] = {}

    @property
    def known(self) -> UUID:
        """Its id, once it has renewed."""
        assert self.id is not None
        return self.id

    def beat(self, lease_seconds: float = 30) -> list[Mapping[str, Any]]:
        """Renew the lease and take what it has room for; return what is new."""
        with self.database.begin() as connection:
            now = self.clock.now()
            one = Triggerer(self.id, "here", self.pid, self.capacity, len(self.held))
            self.id = triggerers.renew(connection, one, now=now, lease_seconds=lease_seconds)
            triggerers.take_from_dead(connection, now=now)
            room, _ = triggerers.share_of(connection, one, self.id, now=now)
            taken, _ = triggerers.claim(connection, self.id, room, crypto=CRYPTO)
        self.held |= {row["id"]: row for row in taken}
        return list(taken)

    def fire(self, *events: Mapping[str, Any]) -> set[int]:
        """Report events; return the triggers whose events counted."""
        with self.database.begin() as connection:
            return trigger_events.record(connection, self.known, events, crypto=CRYPTO, now=self.clock.now())

    def fire_all(self, payload: Any = None) -> set[int]:
        """Fire everything that it holds."""
        return self.fire(*({"id": one, "kind": "event", "payload": json.dumps(payload)} for one in self.held))


def triggers_of(database: Database) -> list[dict[str, Any]]:
    """Return all rows of ``trigger``."""
    with database.begin() as connection:
        return [dict(row) for row in rows(connection, "SELECT * FROM trigger ORDER BY id")]


SECOND = timedelta(seconds=1)
