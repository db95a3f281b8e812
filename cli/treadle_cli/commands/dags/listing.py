"""``treadle dags list | details | list-runs | list-import-errors | list-warnings``: what is known about DAGs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle.timetables.base import catchup_words
from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.database import every, in_database
from treadle_cli.edge import moment
from treadle_cli.output import Listing, Row, output_option, show, show_record
from treadle_metadata.queries import dags, runs
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.versions import newest_document
from treadle_metadata.states import RunState

_NO_DAGS: Final = "No DAGs. Save a DAG file in the dags folder (`treadle config get dags_folder`)."
_DETAILS: Final = (
    "dag_id",
    "display_name",
    "description",
    "file",
    "is_paused",
    "is_active",
    "has_import_errors",
    "owners",
    "tags",
    "schedule",
    "next_run",
    "last_parsed_at",
    "version_number",
)


@click.command("list", cls=Command, examples=("treadle dags list", "treadle dags list --tag sales --paused -o json"))
@click.option("--tag", "tags", multiple=True, help="Only DAGs with this tag; repeat it for any of several.")
@click.option("--paused/--unpaused", "paused", default=None, help="Only DAGs that are paused, or are not.")
@click.option("--all", "everything", is_flag=True, help="Also DAGs whose file is gone.")
@output_option
def list_(tags: tuple[str, ...], paused: bool | None, everything: bool, output: str | None) -> None:
    """List the DAGs."""
    wanted = dags.DagFilter(tags=tags, paused=paused, active=None if everything else True)

    def act(connection: Connection) -> list[Row]:
        return [_dag(row) for row in every(lambda page: dags.list_dags(connection, wanted, page))]

    columns = ("dag_id", "schedule", "is_paused", "next_run", "owners", "tags", "file")
    titles = {"dag_id": "DAG", "is_paused": "paused", "next_run": "next run"}
    show(Listing(columns, in_database(act), _NO_DAGS, titles, ("file", "owners", "tags")), output)


@click.command(cls=Command, examples=("treadle dags details daily_sales -o yaml",))
@click.argument("dag_id")
@output_option
def details(dag_id: str, output: str | None) -> None:
    """Show all that is known about the DAG DAG_ID."""

    def act(connection: Connection) -> Row:
        dag = _dag(dags.get_dag(connection, dag_id))
        document = newest_document(connection, dag_id)
        record = {name: dag[name] for name in _DETAILS}
        return record | {
            "active_runs": dags.active_run_count(connection, dag_id),
            "max_active_runs": document.max_active_runs,
            "max_active_tasks": document.max_active_tasks,
            "catchup": catchup_words(document.catchup),
            "overlap": document.overlap,
            "start_date": moment(document.start_date),
            "end_date": moment(document.end_date),
            "timezone": document.timezone,
            "params": {param.name: param.value for param in document.params},
            "tasks": [task.task_id for task in document.tasks],
        }

    show_record(in_database(act), output)


@click.command(
    "list-runs",
    cls=Command,
    examples=("treadle dags list-runs daily_sales --state failed", "treadle dags list-runs daily_sales --limit 5"),
)
@click.argument("dag_id")
@click.option("--state", "states", multiple=True, type=click.Choice([state.value for state in RunState]))
@click.option("-s", "--start-date", type=edge.Moment(), help="Only runs with this logical date or a later one.")
@click.option("-e", "--end-date", type=edge.Moment(end_of_day=True), help="Only runs up to this logical date.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Most runs to show.")
@output_option
def list_runs(
    dag_id: str,
    states: tuple[str, ...],
    start_date: datetime | None,
    end_date: datetime | None,
    limit: int,
    output: str | None,
) -> None:
    """List the runs of the DAG DAG_ID, the newest first."""

    def act(connection: Connection) -> list[Row]:
        zone = newest_document(connection, dag_id).timezone
        dates = Between(gte=edge.localised(start_date, zone), lte=edge.localised(end_date, zone))
        wanted = runs.RunFilter(dag_id=dag_id, states=states, logical_date=dates)
        found = every(lambda page: runs.list_runs(connection, wanted, page), most=limit)
        return [run_row(row) for row in found]

    columns = ("run_id", "state", "run_type", "logical_date", "started_at", "seconds", "triggered_by")
    titles = {"run_id": "run", "run_type": "type", "started_at": "started", "triggered_by": "by"}
    optional = ("triggered_by", "run_type", "started_at", "seconds", "logical_date")
    show(Listing(columns, in_database(act), f"DAG {dag_id} has no such runs.", titles, optional), output)


@click.command("list-import-errors", cls=Command, examples=("treadle dags list-import-errors",))
@output_option
@click.pass_context
def list_import_errors(ctx: click.Context, output: str | None) -> None:
    """List the DAG files that cannot be read, and why; exit code 1 if there are any."""

    def act(connection: Connection) -> list[dict[str, Any]]:
        return every(lambda page: dags.list_import_errors(connection, page))

    found = in_database(act)
    show(Listing(("file", "line", "message", "occurred_at"), found, "All DAG files can be read."), output)
    ctx.exit(1 if found else 0)


@click.command(
    "list-warnings", cls=Command, examples=("treadle dags list-warnings", "treadle dags list-warnings daily_sales")
)
@click.argument("dag_id", required=False)
@output_option
def list_warnings(dag_id: str | None, output: str | None) -> None:
    """List the warnings about all DAGs, or about the DAG DAG_ID: what works, but not as its author may think."""

    def act(connection: Connection) -> list[Row]:
        if dag_id is not None:
            dags.check_dag(connection, dag_id)
        return list(every(lambda page: dags.list_warnings(connection, page, dag_id=dag_id)))

    titles = {"dag_id": "DAG", "noticed_at": "noticed"}
    show(
        Listing(("dag_id", "kind", "message", "noticed_at"), in_database(act), "No warnings.", titles, ("noticed_at",)),
        output,
    )


def run_row(row: Row) -> dict[str, Any]:
    """Return what is shown of a run."""
    started, ended = row["started_at"], row["ended_at"]
    return {
        "dag_id": row["dag_id"],
        "run_id": row["run_id"],
        "state": row["state"],
        "run_type": row["run_type"],
        "logical_date": row["logical_date"],
        "data_interval_start": row["interval_start"],
        "data_interval_end": row["interval_end"],
        "run_after": row["run_after"],
        "queued_at": row["queued_at"],
        "started_at": started,
        "ended_at": ended,
        "seconds": round((ended - started).total_seconds(), 3) if started and ended else None,
        "triggered_by": row["triggered_by"],
        "triggering_user": row["triggering_user"],
        "conf": row["conf"],
        "note": row["note"],
    }


def _dag(row: Row) -> dict[str, Any]:
    return dict(row) | {"schedule": row["schedule_summary"], "next_run": row["next_run_at"]}
