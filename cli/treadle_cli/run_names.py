"""How a user names a run: by its id, by its logical date, or not at all, which means the newest one."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any, Final

from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.errors import CliError
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.queries.runs import RunFilter, get_run, list_runs
from treadle_metadata.queries.versions import newest_document

HELP: Final = "RUN is a run id or a logical date (a date alone: that day's run); the newest run if not given."


_NAMED: Final = 3
_MOST: Final = 100


def find_run(connection: Connection, dag_id: str, named: str | None) -> dict[str, Any]:
    """Return the run of ``dag_id`` that ``named`` means.

    Raises:
        NotFoundError: there is no such DAG or run.
        CliError: the DAG has no run at all, or a date means several.
    """
    if named is None:
        document = newest_document(connection, dag_id)
        newest = list_runs(connection, RunFilter(dag_id=document.dag_id), PageRequest(limit=1, cursor="")).rows
        if not newest:
            raise CliError(f"DAG {dag_id!r} has no run yet: treadle dags trigger {dag_id}")
        return newest[0]
    try:
        return get_run(connection, dag_id, named)
    except NotFoundError:
        found = _by_date(connection, dag_id, named)
        if found is None:
            raise
        return found


def _by_date(connection: Connection, dag_id: str, named: str) -> dict[str, Any] | None:
    """Return the run with this logical date; for the date of a day without one of midnight, the only one of the day."""
    moment = _moment(named)
    if moment is None:
        return None
    zone = newest_document(connection, dag_id).timezone
    instant = edge.localised(moment, zone)
    found = _dated(connection, dag_id, Between(gte=instant, lte=instant))
    if not found and len(named) == len("2026-03-01") and moment.time() == time.min:
        found = _dated(connection, dag_id, Between(gte=instant, lt=edge.localised(moment + timedelta(days=1), zone)))
    if len(found) > 1:
        ids = ", ".join(one["run_id"] for one in found[:_NAMED]) + (", ..." if len(found) > _NAMED else "")
        raise CliError(
            f"{named} means {_several(len(found))} runs of DAG {dag_id!r}: {ids}; name one by its id or time"
        )
    return found[0] if found else None


def _dated(connection: Connection, dag_id: str, between: Between) -> list[dict[str, Any]]:
    wanted = RunFilter(dag_id=dag_id, logical_date=between)
    return list(list_runs(connection, wanted, PageRequest(limit=_MOST, cursor="")).rows)


def _several(number: int) -> str:
    return f"{number} or more" if number == _MOST else str(number)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
