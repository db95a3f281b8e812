"""``treadle runs mark``: end a run, or let it go on. What the preview lists is what changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.database import in_database
from treadle_cli.output import Listing, counted, output_option, say, show
from treadle_cli.run_names import find_run
from treadle_metadata import audit, marking
from treadle_metadata.queries.runs import get_run
from treadle_metadata.run_marks import plan_run_mark


@click.command(
    cls=Command,
    examples=("treadle runs mark daily_sales 2026-03-01 failed", "treadle runs mark daily_sales r1 success --dry-run"),
)
@click.argument("dag_id")
@click.argument("run")
@click.argument("state", type=click.Choice(["success", "failed", "queued"]))
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@output_option
def mark(dag_id: str, run: str, state: str, dry_run: bool, yes: bool, output: str | None) -> None:
    """Set the run RUN (its id or logical date) of the DAG DAG_ID to STATE.

    success and failed end it: what runs is stopped and takes that state, what has not started is skipped. Teardowns
    whose setups succeeded still run first. queued lets a finished run go on.
    """

    plan = in_database(
        lambda connection: plan_run_mark(connection, dag_id, find_run(connection, dag_id, run)["run_id"], state)
    )
    run_id, changes = plan.run["run_id"], plan.changes
    if changes or dry_run:
        _show(changes, output)
    if dry_run:
        after = f" once its teardowns have run ({', '.join(plan.teardowns)})" if plan.teardowns else ""
        say(f"Run {run_id} of DAG {dag_id} would be {state}{after}. Nothing was changed.")
        return
    if changes:
        edge.confirm(
            f"Mark run {run_id} of DAG {dag_id} {state}, with {counted(len(changes), 'task instance')}?", yes=yes
        )

    def act(connection: Connection) -> dict[str, Any]:
        now = edge.now()
        before = get_run(connection, dag_id, run_id)["state"]
        marked = dict(marking.mark_run(connection, dag_id, run_id, state, now=now))
        audit.record(
            connection, actor=edge.actor(), event="mark_run", now=now, dag_id=dag_id, run_id=run_id,
            before={"state": before}, after={"state": state},
        )  # fmt: skip
        return marked

    marked = in_database(act)
    after = " once its teardowns have run" if marked["ending"] else ""
    say(f"Run {run_id} of DAG {dag_id} is {state}{after}.")


def _show(changes: Sequence[Mapping[str, Any]], output: str | None) -> None:
    columns = ("task_id", "map_index", "state", "new_state")
    titles = {"task_id": "task", "map_index": "index", "new_state": "new state"}
    shown = columns if any(one["map_index"] >= 0 for one in changes) else ("task_id", "state", "new_state")
    rows = [{name: one[name] for name in columns} for one in changes]
    show(Listing(shown, rows, "No task instance changes.", titles), output)
