"""The daemons that ran or run (``process``), as a list: what Airflow calls jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.queries.conditions import ANYTIME, Between, Conditions
from treadle_metadata.queries.paging import NOT_YET, Page, PageRequest, SortKey, fetch_page

# A daemon that neither stopped nor holds its lease was killed.
_STATE: Final[LiteralString] = (
    "CASE WHEN process.stopped_at IS NOT NULL THEN 'success'"
    " WHEN process.lease_until > %(now)s THEN 'running' ELSE 'failed' END"
)

_SORTS: Final = {
    "id": SortKey("process.id", "uuid"),
    "start_date": SortKey("process.started_at", "timestamptz"),
    "latest_heartbeat": SortKey("process.heartbeat_at", "timestamptz"),
    "end_date": SortKey(f"coalesce(process.stopped_at, {NOT_YET})", "timestamptz"),
    "job_type": SortKey("process.kind", "text"),
    "hostname": SortKey("process.hostname", "text"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """What daemons are wanted; ``kinds`` as ``process`` names them."""

    kinds: Sequence[str] | None = None
    state: str | None = None
    alive: bool | None = None
    hostname: str | None = None
    executor: str | None = None
    started: Between = ANYTIME
    ended: Between = ANYTIME


def list_jobs(connection: Connection, wanted: JobFilter, page: PageRequest, *, now: datetime) -> Page:
    """Return a page of daemons with their ``state``, by default the newest first. There are never many of them."""
    conditions = Conditions(parameters={"now": now})
    if wanted.kinds is not None:
        conditions.add("process.kind = ANY(%(kinds)s)", kinds=list(wanted.kinds))
    conditions.equals(f"({_STATE})", "state", wanted.state)
    conditions.equals(f"(({_STATE}) = 'running')", "alive", wanted.alive)
    conditions.equals("process.hostname", "hostname", wanted.hostname)
    if wanted.executor is not None:
        conditions.add("process.executors ? %(executor)s", executor=wanted.executor)
    conditions.between("process.started_at", "started", wanted.started)
    conditions.between("process.stopped_at", "ended", wanted.ended)
    return fetch_page(
        connection,
        select=f"process.*, ({_STATE}) AS state",
        source="process",
        conditions=conditions,
        sorts=_SORTS,
        default=("-start_date",),
        unique=("id",),
        request=page,
    )
