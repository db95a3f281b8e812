"""What is simulated: rows copied from an installation, or documents given directly, made ready to begin.

Pure. The scheduler's loop reads them from the scratch database as it reads an installation's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Protocol

from treadle import document as documents
from treadle.digest import digest
from treadle.document import DagDocument, ExpandArgument
from treadle.lengths import results_in
from treadle_metadata.settings import Settings
from treadle_scheduler.simulation.beginning import beginning

Rows = Mapping[str, Sequence[Mapping[str, Any]]]

_LONG_AGO: Final = datetime(2000, 1, 1, tzinfo=UTC)


class Period(Protocol):
    """The bounds of the runs' due times."""

    @property
    def begin(self) -> datetime:
        """Return the first instant."""

    @property
    def end(self) -> datetime:
        """Return the first instant after it."""


class Definitions:
    """Rows by table name (``treadle_metadata.queries.simulation.definitions``)."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @classmethod
    def of(cls, *given: DagDocument, pools: Mapping[str, int] | None = None) -> Definitions:
        """Return definitions of these DAGs and pools alone."""
        rows: dict[str, list[dict[str, Any]]] = {"dag": [], "dag_version": [], "slot_pool": []}
        for number, document in enumerate(given, start=1):
            rows["dag_version"].append(_version_row(number, document))
            rows["dag"].append(_dag_row(number, document))
        for name, slots in ({"default_pool": 128} | dict(pools or {})).items():
            rows["slot_pool"].append({"name": name, "slots": slots, "description": "", "include_deferred": False})
        return cls(rows)

    @cached_property
    def documents(self) -> dict[str, DagDocument]:
        """The DAGs by id."""
        found = (documents.loads(row["document"]) for row in self._rows.get("dag_version", ()))
        return {one.dag_id: one for one in found}

    @property
    def pools(self) -> dict[str, int]:
        """The slots of each pool."""
        return {row["name"]: row["slots"] for row in self._rows.get("slot_pool", ())}

    @property
    def paused(self) -> list[str]:
        """The DAGs that are paused."""
        return [row["dag_id"] for row in self._rows.get("dag", ()) if row["is_paused"]]

    def executors(self) -> set[str]:
        """Return the names of the executors that tasks ask for."""
        return {task.executor for one in self.documents.values() for task in one.tasks if task.executor}

    def outlets(self) -> dict[tuple[str, str], list[str]]:
        """Return, by DAG and task, the names of the assets that the task updates."""
        found: dict[tuple[str, str], list[str]] = {}
        for row in self._rows.get("asset_reference", ()):
            if row["role"] == "outlet" and row["kind"] == "asset":
                found.setdefault((row["dag_id"], row["task_id"]), []).append(row["name"])
        return found

    def mapped_over(self) -> dict[tuple[str, str], set[str]]:
        """Return, by DAG and task, the keys of results that other tasks are mapped over."""
        found: dict[tuple[str, str], set[str]] = {}
        for one in self.documents.values():
            for argument in _results_of(one):
                found.setdefault((one.dag_id, argument.task_id or ""), set()).add(argument.key)
        return found

    def only(self, dag_ids: Iterable[str]) -> Definitions:
        """Return the definitions with these DAGs only, and all pools."""
        kept = set(dag_ids)
        narrowed = {"dag", "dag_version", "asset_reference"}
        return Definitions(
            {
                name: [row for row in rows if name not in narrowed or row["dag_id"] in kept]
                for name, rows in self._rows.items()
            }
        )

    def rows(self, period: Period, settings: Settings) -> Rows:
        """Return the rows to begin with: no DAG paused, each schedule standing just before ``period.begin``."""
        columns = {name: _schedule_columns(one, period, settings) for name, one in self.documents.items()}
        ready = [dict(row) | columns[row["dag_id"]] for row in self._rows.get("dag", ())]
        # An event counts for whoever refers to its asset since before it.
        referring = [dict(row) | {"created_at": _LONG_AGO} for row in self._rows.get("asset_reference", ())]
        return dict(self._rows) | {"dag": ready, "asset_reference": referring}


def _schedule_columns(document: DagDocument, period: Period, settings: Settings) -> dict[str, Any]:
    last, first = beginning(document, period.begin, cron_style=settings.cron_style)
    due = first.run_after if first is not None and first.run_after < period.end else None
    names = ("next_logical_date", "next_interval_start", "next_interval_end", "resumed_at", "held_since")
    return {
        **dict.fromkeys(names),
        "is_paused": False,
        "at_run_limit": False,
        "last_interval_start": last and last.start,
        "last_interval_end": last and last.end,
        "next_run_at": due and max(due, period.begin),
    }


def _results_of(document: DagDocument) -> Iterator[ExpandArgument]:
    for expand in (*(task.expand for task in document.tasks), *(group.expand for group in document.groups)):
        for argument in expand.arguments if expand is not None else ():
            yield from results_in(argument)


def _version_row(number: int, document: DagDocument) -> dict[str, Any]:
    return {
        "id": number,
        "dag_id": document.dag_id,
        "number": 1,
        "hash": digest(document),
        "document": documents.to_json(document),
        "file_hash": "",
        "created_at": _LONG_AGO,
    }


def _dag_row(number: int, document: DagDocument) -> dict[str, Any]:
    return {
        "dag_id": document.dag_id,
        "file": f"{document.dag_id}.py",
        "version_id": number,
        "is_paused": False,
        "max_active_runs": document.max_active_runs,
        "max_active_tasks": document.max_active_tasks,
        "waits_for_past": any(task.waits_for_past for task in document.tasks),
        "created_at": _LONG_AGO,
    }
