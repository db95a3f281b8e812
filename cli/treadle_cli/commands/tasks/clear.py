"""``treadle tasks clear``: let task instances run again. What the preview lists is what is cleared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.database import in_database
from treadle_cli.output import Listing, counted, output_option, say, show
from treadle_cli.run_names import find_run
from treadle_metadata import audit, clearing
from treadle_metadata.queries.versions import newest_document

_COLUMNS: Final = ("run_id", "logical_date", "task_id", "map_index", "state")


@dataclass(frozen=True, slots=True)
class _Dates:
    start: datetime | None
    end: datetime | None


@click.command(
    cls=Command,
    examples=(
        "treadle tasks clear daily_sales --only-failed",
        "treadle tasks clear daily_sales -s 2026-03-15 -e 2026-03-20 -t 'transform|load' --downstream --dry-run",
        "treadle tasks clear daily_sales --run-id manual__2026-03-01 --yes",
    ),
)
@click.argument("dag_id")
@click.option("-t", "--task-regex", help="Only tasks whose id this regular expression finds.")
@click.option("-r", "--run-id", "run", help="Only this run (its id or logical date).")
@click.option("-s", "--start-date", type=edge.Moment(), help="Only runs with this logical date or a later one.")
@click.option(
    "-e", "--end-date", type=edge.Moment(end_of_day=True), help="Only runs up to this logical date, included."
)
@click.option("-u", "--upstream", is_flag=True, help="Also all tasks before the selected ones.")
@click.option("-d", "--downstream", is_flag=True, help="Also all tasks after the selected ones.")
@click.option("-f", "--only-failed", is_flag=True, help="Only instances that failed, or could not run because of that.")
@click.option("--only-running", is_flag=True, help="Only instances that run now; they are ended and start over.")
@click.option("--dry-run", is_flag=True, help="Only show what would be cleared.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@output_option
def clear(
    dag_id: str,
    task_regex: str | None,
    run: str | None,
    start_date: datetime | None,
    end_date: datetime | None,
    upstream: bool,
    downstream: bool,
    only_failed: bool,
    only_running: bool,
    dry_run: bool,
    yes: bool,
    output: str | None,
) -> None:
    """Clear task instances of the DAG DAG_ID: they run again, and their runs are reopened."""
    selection = clearing.Selection(
        dag_id=dag_id,
        task_regex=task_regex,
        include_upstream=upstream,
        include_downstream=downstream,
        only_failed=only_failed,
        only_running=only_running,
    )
    selection = in_database(lambda connection: _narrowed(connection, selection, run, _Dates(start_date, end_date)))
    found = in_database(lambda connection: clearing.clear(connection, selection, dry_run=True, now=edge.now()))
    columns = tuple(name for name in _COLUMNS if name != "map_index" or any(one["map_index"] >= 0 for one in found))
    titles = {"run_id": "run", "task_id": "task", "map_index": "index"}
    rows = [_row(one) for one in found]
    show(Listing(columns, rows, "There is nothing to clear.", titles, ("logical_date",)), output)
    if not found or dry_run:
        return
    runs = len({one["dag_run_id"] for one in found})
    edge.confirm(f"Clear {counted(len(found), 'task instance')} of {counted(runs, 'run')}?", yes=yes)
    cleared = in_database(lambda connection: _clear(connection, selection))
    say(f"Cleared {counted(len(cleared), 'task instance')}.")


def _narrowed(
    connection: Connection, selection: clearing.Selection, run: str | None, dates: _Dates
) -> clearing.Selection:
    zone = newest_document(connection, selection.dag_id).timezone
    return replace(
        selection,
        run_id=None if run is None else find_run(connection, selection.dag_id, run)["run_id"],
        start_date=edge.localised(dates.start, zone),
        end_date=edge.localised(dates.end, zone),
    )


def _clear(connection: Connection, selection: clearing.Selection) -> Sequence[Mapping[str, Any]]:
    now = edge.now()
    cleared = clearing.clear(connection, selection, now=now)
    detail = {"instances": len(cleared), "task_regex": selection.task_regex, "only_failed": selection.only_failed}
    audit.record(
        connection,
        actor=edge.actor(),
        event="clear_task_instances",
        now=now,
        dag_id=selection.dag_id,
        run_id=selection.run_id,
        detail=detail,
    )
    return cleared


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in _COLUMNS}
