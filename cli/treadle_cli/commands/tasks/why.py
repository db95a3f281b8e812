"""``treadle tasks why``: why a task of a run does not run."""

from __future__ import annotations

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.commands.why import print_why
from treadle_cli.database import in_database
from treadle_cli.output import output_option
from treadle_cli.run_names import HELP, find_run
from treadle_metadata.deciding.reasons import Explanation
from treadle_metadata.queries.why import why_is_task_not_running


@click.command(
    cls=Command,
    help=f"Say in one line why the task TASK_ID of the DAG DAG_ID does not run. {HELP}",
    examples=("treadle tasks why daily_sales load", "treadle tasks why daily_sales load 2026-03-01 --map-index 3"),
)
@click.argument("dag_id")
@click.argument("task_id")
@click.argument("run", required=False)
@click.option(
    "-m",
    "-i",
    "--map-index",
    type=click.IntRange(min=0),
    help="Which instance of a mapped task; default: the first one that waits.",
)
@output_option
def why(dag_id: str, task_id: str, run: str | None, map_index: int | None, output: str | None) -> None:
    """Say in one line why a task does not run."""
    now, settings = edge.now(), edge.settings()
    index = -1 if map_index is None else map_index

    def act(connection: Connection) -> tuple[str, Explanation]:
        run_id = find_run(connection, dag_id, run)["run_id"]
        found = why_is_task_not_running(connection, dag_id, run_id, task_id, index, now=now, settings=settings)
        return run_id, found

    run_id, found = in_database(act)
    print_why(found, output, dag_id=dag_id, run_id=run_id, task_id=task_id)
