"""``treadle audit list``: who changed what, by the API and by commands."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import click

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import in_database
from treadle_cli.output import Listing, output_option, show
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.events import EventFilter, list_events
from treadle_metadata.queries.paging import PageRequest

_COLUMNS: Final = ("happened_at", "actor", "event", "dag_id", "run_id", "task_id", "detail")


@click.group(cls=Group, examples=("treadle audit list --actor ann",))
def audit() -> None:
    """The log of every change: who, what, before and after; secrets are masked."""


@audit.command("list", examples=("treadle audit list", "treadle audit list --dag daily_sales --event clear_dag_run"))
@click.option("--dag", "dag_id", help="Only changes of this DAG.")
@click.option("--run", "run_id", help="Only changes of this run.")
@click.option("--actor", help="Only changes by this account; those by commands are cli:NAME.")
@click.option("--event", multiple=True, help="Only these events, such as create_user.")
@click.option("--since", type=edge.Moment(), help="Only changes since then.")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@output_option
def list_(
    dag_id: str | None,
    run_id: str | None,
    actor: str | None,
    event: tuple[str, ...],
    since: datetime | None,
    limit: int,
    output: str | None,
) -> None:
    """List the changes, the newest first."""
    wanted = EventFilter(
        dag_id=dag_id,
        run_id=run_id,
        actor=actor,
        events=event,
        happened=Between(gte=edge.localised(since, "UTC")),
    )
    page = in_database(lambda connection: list_events(connection, wanted, PageRequest(limit=limit)))
    titles = {"happened_at": "when", "dag_id": "dag", "run_id": "run", "task_id": "task"}
    show(Listing(_COLUMNS, page.rows, "Nothing was changed.", titles, ("task_id", "run_id", "detail")), output)
