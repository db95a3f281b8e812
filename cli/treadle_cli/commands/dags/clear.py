"""``treadle dags clear``: let whole runs run again."""

from __future__ import annotations

from typing import Any

import click

from treadle_cli.clicks import Command
from treadle_cli.commands.clearing import clear_options, clear_selected
from treadle_metadata.selecting import Selection


@click.command(
    cls=Command,
    examples=(
        "treadle dags clear daily_sales --run-id 2026-03-01 --latest",
        "treadle dags clear daily_sales -s 2026-03-15 -e 2026-03-20 --only-failed --dry-run",
    ),
)
@click.argument("dag_id")
@clear_options
def clear(dag_id: str, **how: Any) -> None:
    """Clear whole runs of the DAG DAG_ID: all of their tasks run again, or those that failed or are running."""
    clear_selected(Selection(dag_id=dag_id), **how)
