"""``treadle deadlines list``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli.clicks import Command, Group
from treadle_cli.database import in_database
from treadle_cli.output import Listing, output_option, show
from treadle_cli.run_names import find_run
from treadle_metadata.queries.callbacks import deadlines_of_run, newest_deadlines

_COLUMNS: Final = ("dag_id", "run_id", "name", "reference", "due_at", "missed", "run_state")
_OPTIONAL: Final = ("reference", "run_state", "dag_id")


@click.group(cls=Group, examples=("treadle deadlines list --missed",))
def deadlines() -> None:
    """Deadlines of runs: those still to be kept, and those that were missed."""


@deadlines.command(
    "list", cls=Command, examples=("treadle deadlines list --missed", "treadle deadlines list daily_sales 2026-03-01")
)
@click.argument("dag_id", required=False)
@click.argument("run", required=False)
@click.option("--missed", is_flag=True, help="Only those that were missed.")
@output_option
def list_(dag_id: str | None, run: str | None, missed: bool, output: str | None) -> None:
    """List the deadlines of the run RUN of the DAG DAG_ID, or the newest of the DAG, or of all DAGs.

    RUN is a run id or a logical date. Deadlines that a run has kept are gone.
    """

    def act(connection: Connection) -> Sequence[Mapping[str, Any]]:
        if dag_id is None or run is None:
            return newest_deadlines(connection, dag_id, missed=missed)
        found = deadlines_of_run(connection, dag_id, find_run(connection, dag_id, run)["run_id"])
        return [row for row in found if not missed or row["missed_at"] is not None]

    rows = [{**row, "missed": row["missed_at"] is not None} for row in in_database(act)]
    titles = {"dag_id": "dag", "run_id": "run", "due_at": "due", "run_state": "run is"}
    show(Listing(_COLUMNS, rows, "There are no deadlines.", titles, _OPTIONAL), output)
