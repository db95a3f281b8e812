"""``treadle dags test``: a whole DAG in this process; no server, no database, nothing is stored."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from treadle.params import NOTSET
from treadle.runtime import dag_test
from treadle.runtime.dag_test_result import DagTestResult
from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.dag_files import file_option, find_dag
from treadle_cli.output import Listing, output_option, say, show, show_record
from treadle_cli.testing import cells, output_of_tasks, result_rows, source_options
from treadle_cli.typed import parsed_object

if TYPE_CHECKING:
    from treadle.runtime.asset_events import AssetEvent

_COLUMNS: Final = ("task_id", "map_index", "state", "tries", "seconds", "result", "other_xcoms", "message")


@click.command(
    cls=Command,
    examples=(
        "treadle dags test daily_sales",
        """treadle dags test daily_sales 2026-03-01 --conf '{"country": "DK"}' -o json""",
        "treadle dags test daily_sales --file ./daily_sales.py --variable-file variables.json",
        """treadle dags test release --answers '{"approve": "Approve"}'""",
    ),
)
@click.argument("dag_id")
@click.argument("date", type=edge.Moment(), required=False)
@click.option("-c", "--conf", help="The run's params, as a JSON object.")
@file_option
@source_options
@click.option("--partition-key", help="The part of the data that the run is for.")
@click.option("--answers", help="What people answer: a JSON object of human steps' ids and options.")
@click.option("--mark-success-pattern", help="Tasks whose id this regular expression finds succeed without being run.")
@output_option
@click.pass_context
def test(
    ctx: click.Context,
    dag_id: str,
    date: datetime | None,
    conf: str | None,
    file: Path | None,
    conn_file: str | None,
    variable_file: str | None,
    partition_key: str | None,
    answers: str | None,
    mark_success_pattern: str | None,
    output: str | None,
) -> None:
    """Run the DAG DAG_ID once, for the logical date DATE (default: now), and show states, results and XComs.

    Exit code 0 if the run succeeds, else 1. Retries come at once; nothing is stored anywhere.
    """
    content = parsed_object(conf, "--conf")
    with output_of_tasks():
        dag = find_dag(dag_id, file)
        result = dag_test.run(
            dag,
            logical_date=NOTSET if date is None else edge.localised(date, dag.timezone),
            run_conf=content,
            conn_file_path=conn_file,
            variable_file_path=variable_file,
            mark_success_pattern=mark_success_pattern,
            partition_key=partition_key,
            answers=parsed_object(answers, "--answers"),
        )
    _show(result, output)
    ctx.exit(0 if result.state == "success" else 1)


def _show(result: DagTestResult, output: str | None) -> None:
    rows = result_rows(result.tasks)
    if output in ("json", "yaml"):
        facts = {"dag_id": result.dag_id, "run_id": result.run_id, "state": result.state}
        show_record(facts | {"tasks": rows, "asset_events": [_event(one) for one in result.asset_events]}, output)
        return
    columns = [name for name in _COLUMNS if name not in _useless(rows)]
    titles = {"task_id": "task", "map_index": "index", "other_xcoms": "other XComs"}
    show(Listing(tuple(columns), [cells(row) for row in rows], "The DAG has no tasks.", titles), output)
    for event in result.asset_events:
        key = f" [{event.partition_key}]" if event.partition_key else ""
        said = f": {json.dumps(event.extra)}" if event.extra else ""
        say(f"Asset {event.asset.name}{key} updated by {event.source_task_id}{said}")
    say(f"Run {result.run_id}: {result.state}")


def _event(event: AssetEvent) -> dict[str, Any]:
    """Return an event that a server would have stored."""
    return {
        "asset": event.asset.name,
        "uri": event.uri,
        "task_id": event.source_task_id,
        "map_index": event.source_map_index,
        "partition_key": event.partition_key,
        "aliases": list(event.aliases),
        "extra": event.extra,
    }


def _useless(rows: list[dict[str, object]]) -> set[str]:
    """Return the columns that would hold nothing."""
    shown = [cells(row) for row in rows]
    empty = {name for name in ("result", "other_xcoms", "message") if not any(row[name] for row in shown)}
    return empty | ({"map_index"} if all(row["map_index"] == -1 for row in rows) else set())
