"""``treadle callbacks list``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli.clicks import Command
from treadle_cli.database import in_database
from treadle_cli.output import Listing, output_option, show
from treadle_cli.run_names import find_run
from treadle_metadata.queries.callbacks import callbacks_of_run, newest_callbacks
from treadle_metadata.states import CallbackState

_COLUMNS: Final = ("id", "dag_id", "run_id", "event", "task_id", "state", "ended_at", "error")
_OPTIONAL: Final = ("ended_at", "dag_id", "task_id", "error")


@click.command(
    "list",
    cls=Command,
    examples=(
        "treadle callbacks list",
        "treadle callbacks list daily_sales --state failed",
        "treadle callbacks list daily_sales 2026-03-01",
    ),
)
@click.argument("dag_id", required=False)
@click.argument("run", required=False)
@click.option("--state", "states", multiple=True, type=click.Choice([state.value for state in CallbackState]))
@output_option
def list_(dag_id: str | None, run: str | None, states: tuple[str, ...], output: str | None) -> None:
    """List what was called for the run RUN of the DAG DAG_ID, or the newest of the DAG, or of all DAGs.

    RUN is a run id or a logical date.
    """

    def act(connection: Connection) -> Sequence[Mapping[str, Any]]:
        if dag_id is None or run is None:
            return newest_callbacks(connection, dag_id, states)
        found = callbacks_of_run(connection, dag_id, find_run(connection, dag_id, run)["run_id"])
        return [row for row in found if not states or row["state"] in states]

    rows = [_row(row) for row in in_database(act)]
    titles = {"dag_id": "dag", "run_id": "run", "task_id": "task", "ended_at": "ended"}
    show(Listing(_COLUMNS, rows, "Nothing was called.", titles, _OPTIONAL), output)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: row[name] for name in ("id", "dag_id", "run_id", "event", "task_id", "map_index", "state")}
    times = {name: row[name] for name in ("created_at", "started_at", "ended_at")}
    return {**kept, **times, "error": (row["error"] or {}).get("message")}
