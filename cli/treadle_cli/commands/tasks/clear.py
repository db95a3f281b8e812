"""``treadle tasks clear``: let task instances run again. What the preview lists is what is cleared."""

from __future__ import annotations

from typing import Any

import click

from treadle_cli.clicks import Command
from treadle_cli.commands.clearing import clear_options, clear_selected
from treadle_metadata.selecting import Selection


@click.command(
    cls=Command,
    examples=(
        "treadle tasks clear daily_sales load --run-id 2026-03-01",
        "treadle tasks clear daily_sales --only-failed",
        "treadle tasks clear daily_sales -s 2026-03-15 -e 2026-03-20 -t 'transform|load' --downstream --dry-run",
        "treadle tasks clear daily_sales --run-id manual__2026-03-01 --latest --yes",
    ),
)
@click.argument("dag_id")
@click.argument("task_ids", nargs=-1, metavar="[TASK_ID]...")
@click.option("-t", "--task-regex", help="Only tasks whose id this regular expression finds.")
@click.option("-i", "-m", "--map-index", "indexes", type=int, multiple=True, help="Only this instance of mapped tasks.")
@click.option("-u", "--upstream", is_flag=True, help="Also all tasks before the selected ones.")
@click.option("-d", "--downstream", is_flag=True, help="Also all tasks after the selected ones.")
@clear_options
def clear(
    dag_id: str,
    task_ids: tuple[str, ...],
    task_regex: str | None,
    indexes: tuple[int, ...],
    upstream: bool,
    downstream: bool,
    **how: Any,
) -> None:
    """Clear task instances of the DAG DAG_ID: they run again, and their runs are reopened.

    Without TASK_ID and --task-regex all tasks are meant.
    """
    selection = Selection(
        dag_id=dag_id,
        task_ids=task_ids or None,
        task_regex=task_regex,
        map_indexes=indexes or None,
        include_upstream=upstream,
        include_downstream=downstream,
    )
    clear_selected(selection, **how)
