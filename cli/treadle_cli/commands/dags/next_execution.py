"""``treadle dags next-execution``: when the next runs will be, in the DAG's zone and in yours, clock changes named."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import available_timezones

import click

from treadle.document import DagDocument
from treadle.errors import TreadleError
from treadle.serialization import document_of as serialized
from treadle.timetables.at_hand import timetable_of
from treadle.timetables.preview import Fire, next_fires, policies
from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.dag_files import file_option, find_dag
from treadle_cli.errors import CliError
from treadle_cli.output import Listing, output_option, say, show

_MOST_SECONDS: Final = 10.0
"""How long a timetable of the user's own may take."""


@click.command(
    "next-execution",
    cls=Command,
    examples=(
        "treadle dags next-execution daily_sales -n 20",
        "treadle dags next-execution daily_sales --after 2026-03-27 --timezone America/New_York",
    ),
)
@click.argument("dag_id")
@click.option(
    "-n", "--num-executions", "number", type=click.IntRange(1, 10_000), default=5, show_default=True, help="How many."
)
@click.option("--after", type=edge.Moment(), help="Count from this moment instead of now.")
@click.option("--timezone", "viewer", help="Your zone; default: TZ, else the setting timezone.")
@file_option
@output_option
def next_execution(
    dag_id: str, number: int, after: datetime | None, viewer: str | None, file: Path | None, output: str | None
) -> None:
    """Show the next runs of the DAG DAG_ID, read from its file; nothing needs to run."""
    own = find_dag(dag_id, file)
    dag = serialized(own)
    settings = edge.settings()
    begin = edge.localised(after, dag.timezone) or edge.now()
    zone = viewer or _zone_of_environment() or settings.timezone
    with _limited(dag):
        fires = next_fires(
            dag.schedule,
            now=begin,
            start=begin,
            end=edge.moment(dag.end_date),
            n=number,
            earliest=edge.moment(dag.start_date),
            viewer_timezone=zone,
            default_style=settings.cron_style,
            timetable=timetable_of(own.schedule, own.timezone, settings.cron_style),
        )
    titles = {"run_after": "UTC", "dag_zone": dag.schedule.timezone, "your_zone": zone, "dst": "DST"}
    rows = [_row(fire) for fire in fires]
    show(Listing(_columns(rows, dag.schedule.timezone, zone), rows, _nothing(dag), titles), output)
    if fires and len(fires) < number and dag.end_date:
        say(f"DAG {dag_id} ends at {dag.end_date}.")
    if output is None and fires:
        for line in policies(dag, settings.cron_style):
            say(line)


@contextmanager
def _limited(dag: DagDocument) -> Iterator[None]:
    """Give a timetable of the user's own, which runs in this process, so much time; tell what it fails with."""
    if dag.schedule.kind != "custom":
        yield
        return
    name = f"the timetable of DAG {dag.dag_id!r}"

    def ring(_signal: int, _frame: object) -> None:
        raise CliError(f"{name} gave no answer in {_MOST_SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, _MOST_SECONDS)
    try:
        yield
    except (TreadleError, CliError):
        raise
    except Exception as error:
        raise CliError(f"{name} failed: {type(error).__name__}: {error}") from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _columns(rows: list[dict[str, Any]], dag_zone: str, your_zone: str) -> tuple[str, ...]:
    """Return the columns that say something: a zone once, and no column without a value."""
    columns = ["run_after"]
    columns += ["dag_zone", "dst"] if dag_zone != "UTC" else []
    columns += ["your_zone"] if your_zone not in ("UTC", dag_zone) else []
    return (*columns, *(name for name in ("data_interval", "note") if any(row[name] for row in rows)))


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


def _zone_of_environment() -> str | None:
    name = os.environ.get("TZ", "").removeprefix(":")
    return name if name in available_timezones() else None


def _nothing(dag: DagDocument) -> str:
    if dag.schedule.kind == "none":
        return f"DAG {dag.dag_id} has no schedule: it runs only when it is triggered."
    return f"DAG {dag.dag_id} has no run to come."
