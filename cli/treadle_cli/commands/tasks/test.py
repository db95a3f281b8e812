"""``treadle tasks test``: one try of one task in this process; no server, no database, nothing is stored."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from treadle.params import NOTSET
from treadle.runtime import dag_test
from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.dag_files import file_option, find_dag
from treadle_cli.errors import CliError
from treadle_cli.output import output_option, show_record
from treadle_cli.testing import cells, output_of_tasks, result_rows, source_options
from treadle_cli.typed import parsed_object


@click.command(
    cls=Command,
    examples=(
        "treadle tasks test daily_sales extract 2026-03-01",
        """treadle tasks test daily_sales load --xcoms '{"clean": [1, 2, 3]}'""",
    ),
)
@click.argument("dag_id")
@click.argument("task_id")
@click.argument("date", type=edge.Moment(), required=False)
@click.option("-x", "--xcoms", help="What other tasks returned, as a JSON object: task id to value.")
@click.option("-c", "--conf", help="The run's params, as a JSON object.")
@click.option("-m", "-i", "--map-index", type=click.IntRange(min=0), default=0, help="Which instance of a mapped task.")
@file_option
@source_options
@output_option
@click.pass_context
def test(
    ctx: click.Context,
    dag_id: str,
    task_id: str,
    date: datetime | None,
    xcoms: str | None,
    conf: str | None,
    map_index: int,
    file: Path | None,
    conn_file: str | None,
    variable_file: str | None,
    output: str | None,
) -> None:
    """Run one try of the task TASK_ID of the DAG DAG_ID, whatever it waits for, and show its result and XComs.

    Exit code 0 if it succeeds or skips itself, else 1.
    """
    given, content = parsed_object(xcoms, "--xcoms"), parsed_object(conf, "--conf")
    with output_of_tasks():
        dag = find_dag(dag_id, file)
        try:
            result = dag_test.run_single(
                dag,
                task_id,
                map_index=map_index,
                logical_date=NOTSET if date is None else edge.localised(date, dag.timezone),
                run_conf=content,
                xcoms=given,
                conn_file_path=conn_file,
                variable_file_path=variable_file,
            )
        except LookupError as error:
            raise CliError(str(error)) from error
    (row,) = result_rows([result])
    if output not in ("json", "yaml"):
        row = {name: value for name, value in cells(row).items() if name != "xcoms" and value not in ("", None, -1)}
    show_record(row, output)
    ctx.exit(0 if result.state in ("success", "skipped") else 1)
