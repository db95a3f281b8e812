"""``treadle dags simulate``: what would run when, in virtual time, by the scheduler's own rules.

The installation is only read. The simulation works in a scratch database, which is dropped at the end, also by Ctrl-C.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.commands.dags import simulated
from treadle_cli.database import opened
from treadle_cli.output import output_option
from treadle_cli.progress_bar import shown as progress_bar
from treadle_metadata.settings import Settings
from treadle_scheduler.simulation.durations import Durations, read_file
from treadle_scheduler.simulation.grid import step_for
from treadle_scheduler.simulation.result import Result
from treadle_scheduler.simulation.run import Prepared, Request, prepare, simulate_prepared


class Slots(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """One number of slots, or several to compare, separated by commas."""

    name = "number[,number...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Read ``value``."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(dict.fromkeys(int(part) for part in str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is not a number, or numbers separated by commas", param, ctx)
        if min(numbers) < 1:
            self.fail(f"{min(numbers)} is not a number of slots: expected 1 or more", param, ctx)
        return numbers


@click.command(
    "simulate",
    cls=Command,
    examples=(
        "treadle dags simulate --from 2026-03-01 --to 2026-03-08",
        "treadle dags simulate --from 2026-03-01 --to 2026-04-01 --executor-slots 16,32",
        "treadle dags simulate --from 2026-03-01 --to 2026-03-02 --show runs -o json",
    ),
)
@click.option("--from", "begin", type=edge.Moment(), required=True, help="The first instant; a date is its midnight.")
@click.option("--to", "end", type=edge.Moment(), required=True, help="The first instant after the period.")
@click.option("--dag", "dag_ids", multiple=True, metavar="DAG_ID", help="Only this DAG, paused or not; repeatable.")
@click.option("--with-paused", is_flag=True, help="Paused DAGs, too, as if they were not.")
@click.option("--executor-slots", type=Slots(), help="Attempts at once, instead of the setting parallelism.")
@click.option("--durations", type=click.Path(path_type=Path), help="TOML file: how long tasks take, and how they end.")
@click.option("--seconds", type=click.FloatRange(min=0), help="Of tasks that nothing is known of; default: 60.")
@click.option(
    "--percentile", type=click.IntRange(1, 99), default=50, show_default=True, help="Of the past month's durations."
)
@click.option("--failure-rate", type=click.FloatRange(0, 1), default=0.0, help="Share of attempts that fail.")
@click.option("--seed", type=int, default=0, help="Which attempts fail: another seed, other attempts.")
@click.option("--resolution", type=click.FloatRange(min=0), help="Seconds between two looks; 0 is exact, and slower.")
@click.option(
    "--late-after",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds; what is a late start.",
)
@click.option("--show", "view", type=click.Choice(simulated.VIEWS), help="Only this, as one table.")
@output_option
def simulate(
    begin: datetime, end: datetime, late_after: float, view: str | None, output: str | None, **options: Any
) -> None:
    """Show when every run would start and end, and how pools and the executor would be used.

    The real scheduler loop plays the real DAGs in virtual time. A task takes as long as it did in the past month (the
    median of its successes), or as the file says. Nothing is run; the installation is only read. Earlier runs count as
    done. Paused DAGs are left out, unless they are named or --with-paused is given. Times without an offset are in the
    setting timezone.
    """
    settings = edge.settings()
    request = _request(settings, begin, end, options)
    with opened() as database:
        prepared = prepare(database, request, now=edge.now())
        settings = replace(settings, database_url=database.url)
        slots = options["executor_slots"] or (None,)
        results = [_played(prepared, settings, one) for one in slots]
    late = timedelta(seconds=late_after)
    if len(results) > 1:
        simulated.show_comparison(results, late, output)
    else:
        simulated.show_result(results[0], prepared, late, view, output)


def _request(settings: Settings, begin: datetime, end: datetime, options: dict[str, Any]) -> Request:
    zone = ZoneInfo(settings.timezone)
    first, last = (one if one.tzinfo else one.replace(tzinfo=zone) for one in (begin, end))
    file, seconds = options["durations"], options["seconds"]
    durations = Durations() if file is None else read_file(file)
    durations = replace(durations, failure_rate=options["failure_rate"], seed=options["seed"])
    if seconds is not None:
        durations = replace(durations, seconds=seconds)
    resolution = options["resolution"]
    return Request(
        begin=first,
        end=last,
        dag_ids=options["dag_ids"],
        with_paused=options["with_paused"],
        durations=durations,
        percentile=options["percentile"] / 100,
        resolution=step_for(last - first) if resolution is None else resolution,
    )


def _played(prepared: Prepared, settings: Settings, slots: int | None) -> Result:
    total = max(1, int((prepared.plan.end - prepared.plan.begin).total_seconds()) // 60)
    with ExitStack() as stack:
        bar = stack.enter_context(progress_bar("Simulating")) if sys.stderr.isatty() else None

        def progress(at: datetime) -> None:
            if bar is not None:
                done = int((at - prepared.plan.begin).total_seconds()) // 60
                bar.update(min(done, total), total, f"minutes, {at:%Y-%m-%d %H:%M}")

        return simulate_prepared(prepared, settings, executor_slots=slots, now=edge.now(), progress=progress)
