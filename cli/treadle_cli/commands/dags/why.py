"""``treadle dags why``: why a DAG gets no run, or a run does not start."""

from __future__ import annotations

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.commands.why import print_why
from treadle_cli.database import in_database
from treadle_cli.output import output_option
from treadle_cli.run_names import find_run
from treadle_metadata.deciding.reasons import Explanation
from treadle_metadata.queries.why import why_is_dag_not_running, why_is_run_not_running


@click.command(
    cls=Command,
    examples=("treadle dags why daily_sales", "treadle dags why daily_sales 2026-03-01 -o json"),
)
@click.argument("dag_id")
@click.argument("run", required=False)
@output_option
def why(dag_id: str, run: str | None, output: str | None) -> None:
    """Say in one line why the DAG DAG_ID gets no run now, or what its run RUN waits for.

    RUN is a run id or a logical date.
    """
    now, settings = edge.now(), edge.settings()

    def act(connection: Connection) -> tuple[str | None, Explanation]:
        if run is None:
            return None, why_is_dag_not_running(connection, dag_id, now=now, settings=settings)
        run_id = find_run(connection, dag_id, run)["run_id"]
        return run_id, why_is_run_not_running(connection, dag_id, run_id, now=now, settings=settings)

    run_id, found = in_database(act)
    print_why(found, output, dag_id=dag_id, **({} if run_id is None else {"run_id": run_id}))
