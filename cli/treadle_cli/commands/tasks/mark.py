"""``treadle tasks mark``: set the state of task instances by hand. What the preview lists is what changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.database import in_database
from treadle_cli.output import Listing, counted, output_option, say, show
from treadle_cli.run_names import find_run
from treadle_metadata import audit, marking
from treadle_metadata.selecting import Selection

_COLUMNS: Final = ("run_id", "task_id", "map_index", "state", "action")


@click.command(
    cls=Command,
    examples=(
        "treadle tasks mark daily_sales success load --run-id 2026-03-01",
        "treadle tasks mark daily_sales skipped report --run-id r1 --downstream --dry-run",
    ),
)
@click.argument("dag_id")
@click.argument("state", type=click.Choice(["success", "failed", "skipped"]))
@click.argument("task_ids", nargs=-1, required=True, metavar="TASK_ID...")
@click.option("-r", "--run-id", "run", required=True, help="The run (its id or logical date).")
@click.option("-i", "-m", "--map-index", "indexes", type=int, multiple=True, help="Only this instance of mapped tasks.")
@click.option("-u", "--upstream", is_flag=True, help="Also all tasks before these.")
@click.option("-d", "--downstream", is_flag=True, help="Also all tasks after these.")
@click.option("--past", is_flag=True, help="Also in the runs before it.")
@click.option("--future", is_flag=True, help="Also in the runs after it.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@output_option
def mark(
    dag_id: str,
    state: str,
    task_ids: tuple[str, ...],
    run: str,
    indexes: tuple[int, ...],
    upstream: bool,
    downstream: bool,
    past: bool,
    future: bool,
    **how: Any,
) -> None:
    """Set the instances of tasks TASK_ID of the DAG DAG_ID to STATE.

    Attempts under way are stopped. What could not run below, for want of a task that is a success now, runs.
    """
    selection = Selection(
        dag_id=dag_id,
        task_ids=task_ids,
        map_indexes=indexes or None,
        include_upstream=upstream,
        include_downstream=downstream,
        include_past=past,
        include_future=future,
    )
    _mark(selection, state, run, **how)


def _mark(selection: Selection, state: str, run: str, *, dry_run: bool, yes: bool, output: str | None) -> None:
    """Show what changes and, after a yes, change it."""

    def look(connection: Connection) -> tuple[Selection, marking.Marks]:
        meant = replace(selection, run_id=find_run(connection, selection.dag_id, run)["run_id"])
        return meant, marking.plan_marks(connection, meant, state)

    selection, planned = in_database(look)
    rows = [{name: one[name] for name in _COLUMNS} for one in planned.changes]
    shown = _COLUMNS if any(one["map_index"] >= 0 for one in rows) else tuple(x for x in _COLUMNS if x != "map_index")
    titles = {"run_id": "run", "task_id": "task", "map_index": "index"}
    show(Listing(shown, rows, f"There is nothing to mark {state}.", titles), output)
    if not planned.marked or dry_run:
        return
    edge.confirm(f"Change {counted(len(rows), 'task instance')} of {counted(len(planned.runs), 'run')}?", yes=yes)
    done = in_database(lambda connection: _act(connection, selection, state))
    say(f"Marked {counted(len(done.marked), 'task instance')} {state}, cleared {len(done.resumed)}.")


def _act(connection: Connection, selection: Selection, state: str) -> marking.Marks:
    now = edge.now()
    done = marking.mark_selected(connection, selection, state, now=now)
    audit.record(
        connection,
        actor=edge.actor(),
        event="mark_task_instances",
        now=now,
        dag_id=selection.dag_id,
        run_id=selection.run_id,
        detail={"state": state, "instances": len(done.changes)},
    )
    return done
