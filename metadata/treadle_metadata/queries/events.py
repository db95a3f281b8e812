"""The audit log, newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import ANYTIME, Between, Conditions
from treadle_metadata.queries.paging import Page, PageRequest, SortKey, fetch_page
from treadle_metadata.statements import rows

_SORTS: Final = {
    "id": SortKey("audit_log.id", "bigint"),
    "event_log_id": SortKey("audit_log.id", "bigint"),
    # Their numbers grow with the time, and have the index.
    "when": SortKey("audit_log.id", "bigint"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """What events are wanted."""

    dag_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    map_index: int | None = None
    actor: str | None = None
    events: Sequence[str] = ()
    excluded: Sequence[str] = ()
    patterns: Mapping[str, str | None] = field(default_factory=dict)
    """Parts of texts, by a name of ``MATCHED``."""
    prefixes: Mapping[str, str | None] = field(default_factory=dict)
    """Beginnings of texts, by the same names."""
    happened: Between = ANYTIME
    of_dags_only: bool = False


MATCHED: Final[Mapping[str, LiteralString]] = {
    "dag_id": "audit_log.dag_id",
    "task_id": "audit_log.task_id",
    "run_id": "audit_log.run_id",
    "owner": "audit_log.actor",
    "event": "audit_log.event",
}
"""The texts that a filter can ask for a part or a beginning of."""


def list_events(connection: Connection, wanted: EventFilter, page: PageRequest) -> Page:
    """Return a page of audited changes, the newest first."""
    conditions = Conditions()
    conditions.equals("audit_log.dag_id", "dag_id", wanted.dag_id)
    conditions.equals("audit_log.run_id", "run_id", wanted.run_id)
    conditions.equals("audit_log.task_id", "task_id", wanted.task_id)
    conditions.equals("audit_log.map_index", "map_index", wanted.map_index)
    conditions.equals("audit_log.actor", "actor", wanted.actor)
    conditions.any_of("audit_log.event", "events", wanted.events)
    if wanted.excluded:
        conditions.add("audit_log.event <> ALL(%(excluded)s)", excluded=list(wanted.excluded))
    for name, column in MATCHED.items():
        conditions.pattern(column, f"{name}_pattern", wanted.patterns.get(name))
        conditions.prefix(column, f"{name}_prefix", wanted.prefixes.get(name))
    conditions.between("audit_log.happened_at", "happened", wanted.happened)
    if wanted.of_dags_only:
        conditions.add("audit_log.dag_id IS NOT NULL")
    return fetch_page(
        connection,
        select="audit_log.*",
        source="audit_log",
        conditions=conditions,
        sorts=_SORTS,
        default=("-id",),
        unique=("id",),
        request=page,
    )


def get_event(connection: Connection, event_id: int, *, of_dags_only: bool = False) -> dict[str, Any]:
    """Return one audited change, with ``of_dags_only`` only one that concerns a DAG.

    Raises:
        NotFoundError: there is no such event.
    """
    found = rows(connection, "SELECT * FROM audit_log WHERE id = %(id)s", {"id": event_id})
    if not found or (of_dags_only and found[0]["dag_id"] is None):
        raise NotFoundError("event log", event_id)
    return dict(found[0])
