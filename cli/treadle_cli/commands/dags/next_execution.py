"""``treadle dags next-execution``: when the next runs will be, in the DAG's zone and in yours, clock changes named."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

import click

from treadle.document import DagDocument
from treadle.timetables.preview import Fire, next_fires
from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.dag_files import document_of, file_option
from treadle_cli.output import Listing, output_option, say, show


@click.command(
    "next-execution",
    cls=Command,
    examples=(
        "treadle dags next-execution daily_sales -n 20",
        "treadle dags next-execution daily_sales --after 2026-03-27 --timezone America/New_York",
    ),
)
@click.argument("dag_id")
@click.option("-n", "--num-executions", "number", type=click.IntRange(1, 10_000), default=5, show_default=True)
@click.option("--after", type=edge.Moment(), help="Count from this moment instead of now.")
@click.option("--timezone", "viewer", help="Your zone; default: TZ, else the setting timezone.")
@file_option
@output_option
def next_execution(
    dag_id: str, number: int, after: datetime | None, viewer: str | None, file: Path | None, output: str | None
) -> None:
    """Show the next runs of the DAG DAG_ID, read from its file; nothing needs to run."""
    dag = document_of(dag_id, file)
    settings = edge.settings()
    begin = edge.localised(after, dag.timezone) or edge.now()
    zone = viewer or _zone_of_environment() or settings.timezone
    fires = next_fires(
        dag.schedule,
        now=begin,
        start=begin,
        end=_moment(dag.end_date),
        n=number,
        earliest=_moment(dag.start_date),
        viewer_timezone=zone,
        default_style=settings.cron_style,
    )
    columns = ["run_after", "dag_zone", "your_zone", "dst", "data_interval", "note"]
    if not any(fire.note for fire in fires):
        columns.remove("note")
    titles = {"run_after": "UTC", "dag_zone": dag.schedule.timezone, "your_zone": zone, "dst": "DST"}
    if dag.schedule.timezone == zone:
        columns.remove("your_zone")
    show(Listing(tuple(columns), [_row(fire) for fire in fires], _nothing(dag), titles), output)
    if fires and len(fires) < number and dag.end_date:
        say(f"DAG {dag_id} ends at {dag.end_date}.")


def _row(fire: Fire) -> dict[str, Any]:
    interval = fire.data_interval
    return {
        "run_after": fire.run_after,
        "dag_zone": _local(fire.local),
        "your_zone": _local(fire.viewer),
        "logical_date": fire.logical_date,
        "dst": fire.is_dst,
        "data_interval": "" if interval.start == interval.end else f"{_utc(interval.start)} to {_utc(interval.end)}",
        "data_interval_start": interval.start,
        "data_interval_end": interval.end,
        "note": fire.note,
    }


def _local(moment: datetime) -> str:
    return moment.strftime("%a %Y-%m-%d %H:%M:%S %z")


def _utc(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M")


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _zone_of_environment() -> str | None:
    name = os.environ.get("TZ", "").removeprefix(":")
    return name if name in available_timezones() else None


def _nothing(dag: DagDocument) -> str:
    if dag.schedule.kind == "none":
        return f"DAG {dag.dag_id} has no schedule: it runs only when it is triggered."
    return f"DAG {dag.dag_id} has no run to come."
