"""The daemons' rows in ``process``: who runs where, and whether its lease still holds.

Every daemon registers when it begins, renews each ``lease_renewal_seconds`` and says when it stops. One that was killed
says nothing; its lease ends, and health pages and rescuers see that. Rows are kept a while for the health page.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from treadle_metadata.clock import Clock
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import new_attempt_id
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows

log = logging.getLogger(__name__)


Executors = Mapping[str, Sequence[Mapping[str, str | None]]]
"""Of a scheduler: its executors by name, each with its troubles: ``sentence``, and ``queue`` if it is about one."""


@dataclass(frozen=True, slots=True)
class Process:
    """A daemon as the database knows it."""

    id: UUID
    kind: str
    hostname: str
    pid: int
    started_at: datetime
    heartbeat_at: datetime
    lease_until: datetime
    stopped_at: datetime | None
    executors: Executors | None

    def is_alive(self, now: datetime) -> bool:
        """Tell whether it has not stopped and its lease holds at ``now``."""
        return self.stopped_at is None and self.lease_until > now


def register(
    connection: Connection,
    kind: str,
    now: datetime,
    lease_seconds: float,
    executors: Executors | None = None,
    place: tuple[str, int] | None = None,
) -> UUID:
    """Record this process, or the one at ``place`` (host name and pid), as a daemon of ``kind``; return its id."""
    process_id = new_attempt_id()
    execute(
        connection,
        """
        INSERT INTO process (id, kind, hostname, pid, started_at, heartbeat_at, lease_until, executors)
        VALUES (%(id)s, %(kind)s, %(hostname)s, %(pid)s, %(now)s, %(now)s, %(until)s, %(executors)s::jsonb)
        """,
        {
            "id": process_id,
            "kind": kind,
            "hostname": place[0] if place else socket.gethostname(),
            "pid": place[1] if place else os.getpid(),
            "now": now,
            "until": now + timedelta(seconds=lease_seconds),
            "executors": None if executors is None else json.dumps(executors),
        },
    )
    return process_id


def heartbeat(
    connection: Connection,
    process_id: UUID,
    now: datetime,
    lease_seconds: float,
    executors: Executors | None = None,
    *,
    kind: str | None = None,
) -> bool:
    """Renew the lease; return False if the daemon was recorded as stopped, so that others may have taken its work.

    ``kind``: the only one whose lease may be renewed, where the id is what somebody says of itself.
    """
    return bool(
        execute(
            connection,
            """
            UPDATE process SET heartbeat_at = %(now)s, lease_until = %(until)s, executors = %(executors)s::jsonb
            WHERE id = %(id)s AND stopped_at IS NULL AND (%(kind)s::text IS NULL OR kind = %(kind)s)
            """,
            {
                "id": process_id,
                "kind": kind,
                "now": now,
                "until": now + timedelta(seconds=lease_seconds),
                "executors": None if executors is None else json.dumps(executors),
            },
        )
    )


def stop(connection: Connection, process_id: UUID, now: datetime, *, kind: str | None = None) -> None:
    """Record that the daemon ended in order, which ends its lease; ``kind`` as in ``heartbeat``."""
    execute(
        connection,
        """
        UPDATE process SET stopped_at = %(now)s, lease_until = %(now)s
        WHERE id = %(id)s AND stopped_at IS NULL AND (%(kind)s::text IS NULL OR kind = %(kind)s)
        """,
        {"id": process_id, "now": now, "kind": kind},
    )


def expire(connection: Connection, now: datetime) -> list[Process]:
    """Record as stopped, once, every daemon whose lease has ended, and return them."""
    return _processes(
        rows(
            connection,
            """
            UPDATE process SET stopped_at = %(now)s
            WHERE stopped_at IS NULL AND lease_until <= %(now)s
            RETURNING *
            """,
            {"now": now},
        )
    )


def forget(connection: Connection, before: datetime) -> int:
    """Delete the rows of daemons that stopped before ``before``; return how many."""
    return execute(connection, "DELETE FROM process WHERE stopped_at < %(before)s", {"before": before})


def newest(connection: Connection) -> list[Process]:
    """Return, for each kind of daemon, the one with the newest heartbeat."""
    return _processes(rows(connection, "SELECT DISTINCT ON (kind) * FROM process ORDER BY kind, heartbeat_at DESC"))


def alive(connection: Connection, now: datetime) -> list[Process]:
    """Return the daemons whose lease holds at ``now``, the longest-running first."""
    return _processes(
        rows(
            connection,
            "SELECT * FROM process WHERE stopped_at IS NULL AND lease_until > %(now)s ORDER BY started_at, id",
            {"now": now},
        )
    )


def _processes(found: Sequence[Mapping[str, Any]]) -> list[Process]:
    return [Process(**row) for row in found]


class Lease:
    """Keeps this process registered as a daemon of ``kind`` while the ``with`` block runs.

    A thread renews the lease. While the database is away it tries on; if the lease was taken for lost meanwhile, the
    daemon registers anew. A killed daemon's lease just ends. ``executors`` is asked at each renewal for what to tell.
    """

    def __init__(
        self,
        database: Database,
        kind: str,
        clock: Clock,
        settings: Settings,
        executors: Callable[[], Executors | None] = lambda: None,
    ) -> None:
        self._database = database
        self._kind = kind
        self._clock = clock
        self._executors = executors
        self._lease_seconds = settings.lease_seconds
        self._renewal_seconds = settings.lease_renewal_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_stopped, name="lease", daemon=True)
        self.process_id: UUID | None = None

    def __enter__(self) -> Lease:
        self.renew()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        process_id = self.process_id
        if process_id is None:
            return
        try:
            with self._database.begin() as connection:
                stop(connection, process_id, self._clock.now())
        except DBAPIError as failure:
            log.warning("could not record that the %s stopped; its lease will end: %s", self._kind, failure.orig)

    def renew(self) -> None:
        """Renew the lease now, or register if there is none."""
        now = self._clock.now()
        with self._database.begin() as connection:
            known, executors = self.process_id, self._executors()
            if known is not None and heartbeat(connection, known, now, self._lease_seconds, executors):
                return
            process_id = register(connection, self._kind, now, self._lease_seconds, executors)
        if known is not None:
            log.warning("the lease of this %s had ended; it registered anew", self._kind)
        self.process_id = process_id

    def _renew_until_stopped(self) -> None:
        while not self._stopping.wait(self._renewal_seconds):
            try:
                self.renew()
            except DBAPIError as failure:
                log.warning("could not renew the lease of the %s, trying again: %s", self._kind, failure.orig)
