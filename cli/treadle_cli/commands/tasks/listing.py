"""``treadle tasks list | states``."""

from __future__ import annotations

from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle.document import TaskDocument
from treadle.mapped_tasks import mapped_tasks
from treadle_cli.clicks import Command
from treadle_cli.database import every, in_database
from treadle_cli.output import Listing, Row, output_option, say, show
from treadle_cli.run_names import HELP, find_run
from treadle_metadata.queries.task_instances import InstanceFilter, list_instances
from treadle_metadata.queries.versions import newest_document
from treadle_metadata.states import TaskState

_TASK_COLUMNS: Final = ("task_id", "operator", "upstream", "trigger_rule", "retries", "pool", "mapped")
_STATE_COLUMNS: Final = ("task_id", "map_index", "state", "try_number", "started_at", "seconds", "waiting_for")


@click.command("list", cls=Command, examples=("treadle tasks list daily_sales",))
@click.argument("dag_id")
@output_option
def list_(dag_id: str, output: str | None) -> None:
    """List the tasks of the DAG DAG_ID in topological order."""
    document = in_database(lambda connection: newest_document(connection, dag_id))
    titles = {"task_id": "task", "trigger_rule": "trigger rule"}
    mapped = mapped_tasks(document)
    rows = [_task(task, task.task_id in mapped) for task in document.tasks]
    show(Listing(_TASK_COLUMNS, rows, "The DAG has no tasks.", titles), output)


@click.command(
    cls=Command,
    help=f"Show the states of the task instances of a run of the DAG DAG_ID. {HELP}",
    examples=("treadle tasks states daily_sales", "treadle tasks states daily_sales 2026-03-01 --state failed"),
)
@click.argument("dag_id")
@click.argument("run", required=False)
@click.option("--state", "wanted_states", multiple=True, type=click.Choice([state.value for state in TaskState]))
@output_option
def states(dag_id: str, run: str | None, wanted_states: tuple[str, ...], output: str | None) -> None:
    """Show the states of the task instances of a run."""

    def act(connection: Connection) -> tuple[Row, list[Row]]:
        found = find_run(connection, dag_id, run)
        wanted = InstanceFilter(dag_id=dag_id, run_id=found["run_id"], states=wanted_states)
        rows = every(lambda page: list_instances(connection, wanted, page))
        place = {task.task_id: index for index, task in enumerate(newest_document(connection, dag_id).tasks)}
        rows.sort(key=lambda row: place.get(row["task_id"], len(place)))
        return found, [_instance(row) for row in rows]

    found, rows = in_database(act)
    columns = list(_STATE_COLUMNS)
    if all(row["map_index"] < 0 for row in rows):
        columns.remove("map_index")
    if not any(row["waiting_for"] for row in rows):
        columns.remove("waiting_for")
    say(f"Run {found['run_id']}: {found['state']}")
    titles = {"task_id": "task", "map_index": "index", "try_number": "try", "started_at": "started"}
    show(Listing(tuple(columns), rows, "The run has no such task instances.", titles), output)


def _task(task: TaskDocument, is_mapped: bool) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "operator": task.operator,
        "group_id": task.group_id,
        "upstream": task.upstream,
        "trigger_rule": task.trigger_rule,
        "retries": task.retries,
        "pool": task.pool,
        "mapped": is_mapped,
    }


def _instance(row: Row) -> dict[str, Any]:
    started, ended = row["started_at"], row["ended_at"]
    return {
        "dag_id": row["dag_id"],
        "run_id": row["run_id"],
        "task_id": row["task_id"],
        "map_index": row["map_index"],
        "state": row["state"],
        "try_number": row["try_number"],
        "started_at": started,
        "ended_at": ended,
        "seconds": round((ended - started).total_seconds(), 3) if started and ended else None,
        "hostname": row["hostname"],
        "waiting_for": row["waiting_for"],
    }
