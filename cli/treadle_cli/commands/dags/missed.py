"""``treadle dags missed``: the times of a schedule that became no run, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from treadle.timetables.planning import MissedReason
from treadle_cli.clicks import Command
from treadle_cli.database import in_database
from treadle_cli.output import Listing, output_option, show
from treadle_metadata.queries.missed_times import missed_times

_REASONS: Final = {
    MissedReason.LATE: "nobody looked in time, and catchup does not make up for it",
    MissedReason.OVERLAP: "the DAG was at its run limit",
    MissedReason.PAUSED: "the DAG was paused",
}


@click.command(
    cls=Command, examples=("treadle dags missed daily_sales", "treadle dags missed daily_sales --limit 20 -o json")
)
@click.argument("dag_id")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Most rows to show.")
@output_option
def missed(dag_id: str, limit: int, output: str | None) -> None:
    """List the times of the schedule of DAG_ID that became no run, the newest first."""
    found = [_row(one) for one in in_database(lambda connection: missed_times(connection, dag_id, most=limit))]
    columns = ("run_after", "last_run_after", "times", "reason", "why")
    titles = {"run_after": "time", "last_run_after": "until"}
    nothing = f"No time of the schedule of DAG {dag_id} was left out."
    show(Listing(columns, found, nothing, titles, ("why", "reason")), output)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    alone = row["slots"] == 1
    return {
        "run_after": row["run_after"],
        "last_run_after": None if alone else row["last_run_after"],
        "times": "many" if row["slots"] is None else row["slots"],
        "reason": row["reason"],
        "why": _REASONS[row["reason"]],
        "logical_date": row["logical_date"],
        "noticed_at": row["noticed_at"],
    }
