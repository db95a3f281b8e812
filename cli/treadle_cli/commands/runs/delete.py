"""``treadle runs delete``: remove a run with its task instances, attempts and XComs."""

from __future__ import annotations

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.database import in_database
from treadle_cli.output import say
from treadle_cli.run_names import find_run
from treadle_metadata import audit, deletion


@click.command(
    cls=Command, examples=("treadle runs delete daily_sales r1", "treadle runs delete daily_sales r1 --end-first --yes")
)
@click.argument("dag_id")
@click.argument("run")
@click.option("--end-first", is_flag=True, help="End the run first if it is under way, as failed.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def delete(dag_id: str, run: str, end_first: bool, yes: bool) -> None:
    """Delete the run RUN (its id or logical date) of the DAG DAG_ID; its logs stay.

    A run of a schedule does not come back; a backfill over its date makes it anew.
    """
    run_id = in_database(lambda connection: find_run(connection, dag_id, run)["run_id"])
    edge.confirm(f"Delete run {run_id} of DAG {dag_id}?", yes=yes)

    def act(connection: Connection) -> None:
        now = edge.now()
        deletion.delete_run(connection, dag_id, run_id, end_first=end_first, now=now)
        audit.record(connection, actor=edge.actor(), event="delete_dag_run", now=now, dag_id=dag_id, run_id=run_id)

    in_database(act)
    logs = edge.settings().path("logs_folder") / dag_id / run_id
    say(f"Run {run_id} of DAG {dag_id} is deleted." + (f" Its logs stay in {logs}." if logs.is_dir() else ""))
