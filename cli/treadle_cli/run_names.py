"""How a user names a run: by its id, by its logical date, or not at all, which means the newest one."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.errors import CliError
from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.queries.runs import RunFilter, get_run, list_runs
from treadle_metadata.queries.versions import newest_document

HELP: Final = "RUN is a run id or a logical date; the newest run if not given."


def find_run(connection: Connection, dag_id: str, named: str | None) -> dict[str, Any]:
    """Return the run of ``dag_id`` that ``named`` means.

    Raises:
        NotFoundError: there is no such DAG or run.
        CliError: the DAG has no run at all.
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
        moment = _moment(named)
        if moment is None:
            raise
        instant = edge.localised(moment, newest_document(connection, dag_id).timezone)
        wanted = RunFilter(dag_id=dag_id, logical_date=Between(gte=instant, lte=instant))
        found = list_runs(connection, wanted, PageRequest(limit=1, cursor="")).rows
        if not found:
            raise
        return found[0]


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
