"""``treadle backfill`` (and ``treadle dags backfill``): runs of a DAG for dates in the past."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command, Group
from treadle_cli.database import every, in_database
from treadle_cli.output import Listing, counted, output_option, say, show, show_record
from treadle_cli.typed import parsed_object
from treadle_cli.waiting import progress, until
from treadle_metadata import audit, backfills
from treadle_metadata.queries import backfills as questions
from treadle_metadata.queries.dags import get_dag
from treadle_metadata.queries.versions import newest_document

_COLUMNS: Final = (
    "id",
    "dag_id",
    "from_date",
    "to_date",
    "created_at",
    "completed_at",
    "is_paused",
    "reprocess_behavior",
)


@click.group(
    cls=Group,
    examples=(
        "treadle backfill create daily_sales --start-date 2026-03-01 --end-date 2026-03-31 --wait",
        "treadle backfill list",
    ),
)
def backfill() -> None:
    """Run a DAG for dates in the past."""


@click.command(
    "create",
    cls=Command,
    examples=(
        "treadle dags backfill daily_sales --start-date 2026-03-01 --end-date 2026-03-31 --dry-run",
        "treadle dags backfill daily_sales -s 2026-03-01 -e 2026-03-31 --max-active-runs 4 --reprocess failed --wait",
    ),
)
@click.argument("dag_id", required=False)
@click.option("--dag-id", "dag_option", help="The same as the argument DAG_ID.")
@click.option("-s", "--start-date", "--from-date", "start", type=edge.Moment(), required=True, help="First date.")
@click.option(
    "-e",
    "--end-date",
    "--to-date",
    "end",
    type=edge.Moment(end_of_day=True),
    required=True,
    help="Last date, included.",
)
@click.option("--max-active-runs", type=click.IntRange(min=1), default=10, show_default=True, help="Runs at once.")
@click.option(
    "--reprocess",
    "--reprocess-behavior",
    "reprocess_behavior",
    type=click.Choice(backfills.REPROCESS),
    default="none",
    show_default=True,
    help="Which dates that have a run already run again: none, those that failed, all completed ones.",
)
@click.option("-c", "--conf", "--dag-run-conf", help="The runs' params, as a JSON object.")
@click.option("--run-backwards", is_flag=True, help="The newest date first.")
@click.option(
    "--latest/--original",
    default=None,
    help="Version of the runs that run again: the newest, or their own; default: what DAG and settings say.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option(
    "-w",
    "--wait",
    "--watch",
    "--progress",
    "wait",
    is_flag=True,
    help="Show a progress bar until the end of all runs; exit code 1 if any fails.",
)
@output_option
@click.pass_context
def create(
    ctx: click.Context,
    /,
    dag_id: str | None,
    dag_option: str | None,
    start: datetime,
    end: datetime,
    wait: bool,
    output: str | None,
    **how: Any,
) -> None:
    """Make the runs of the DAG DAG_ID that its schedule calls for between two dates, both included.

    Dates are in the DAG's time zone. One backfill of a DAG can be under way at a time.
    """
    wanted = _one_of(dag_id, dag_option)
    how["conf"] = parsed_object(how["conf"], "--conf")
    made, is_paused = in_database(lambda connection: _create(connection, wanted, start, end, how))
    if made.id is None:
        _preview(made, output)
        return
    _tell(wanted, made)
    if is_paused:
        say(f"DAG {wanted} is paused: its runs stay queued until `treadle dags unpause {wanted}`.")
    if wait:
        ctx.exit(0 if _wait(made.id) else 1)


def _create(
    connection: Connection, dag_id: str, start: datetime, end: datetime, how: Mapping[str, Any]
) -> tuple[backfills.Backfill, bool]:
    """Make the backfill, or preview it; tell too whether the DAG is paused."""
    zone, settings, now = newest_document(connection, dag_id).timezone, edge.settings(), edge.now()
    made = backfills.create(
        connection,
        dag_id,
        edge.localised(start, zone) or start,
        edge.localised(end, zone) or end,
        cron_style=settings.cron_style,
        default_latest=settings.rerun_with_latest_version,
        user=edge.actor(),
        now=now,
        **how,
    )
    if made.id is not None:
        detail = {"from_date": start, "to_date": end, **how, "backfill": made.id}
        audit.record(connection, actor=edge.actor(), event="create_backfill", now=now, dag_id=dag_id, detail=detail)
    return made, bool(get_dag(connection, dag_id)["is_paused"])


backfill.add_command(create)


@backfill.command("list", examples=("treadle backfill list --active",))
@click.option("--dag-id", help="Only backfills of this DAG.")
@click.option("--active", is_flag=True, help="Only backfills that are under way.")
@output_option
def list_(dag_id: str | None, active: bool, output: str | None) -> None:
    """List the backfills, the newest first."""

    def act(connection: Connection) -> list[dict[str, Any]]:
        return every(lambda page: questions.list_backfills(connection, page, dag_id=dag_id, active=active or None))

    titles = {
        "dag_id": "DAG",
        "from_date": "from",
        "to_date": "to",
        "reprocess_behavior": "reprocess",
        "is_paused": "paused",
        "created_at": "created",
        "completed_at": "completed",
    }
    show(
        Listing(_COLUMNS, in_database(act), "No backfills.", titles, ("reprocess_behavior", "is_paused", "created_at")),
        output,
    )


@backfill.command("show", examples=("treadle backfill show 3", "treadle backfill show 3 --watch"))
@click.argument("backfill_id", type=int)
@click.option("-w", "--watch", is_flag=True, help="Show a progress bar until the end; exit code 1 if any run fails.")
@click.option("--dates", is_flag=True, help="List its dates, each with the state of its run.")
@output_option
@click.pass_context
def show_one(ctx: click.Context, backfill_id: int, watch: bool, dates: bool, output: str | None) -> None:
    """Show how far the backfill BACKFILL_ID is, and how long it may still take."""
    if watch:
        ctx.exit(0 if _wait(backfill_id) else 1)
    if dates:
        rows = in_database(lambda connection: questions.dates(connection, backfill_id))
        columns = ("logical_date", "run_id", "state", "started_at", "duration")
        show(
            Listing(columns, rows, "It has no run.", {"run_id": "run", "started_at": "started"}, ("started_at",)),
            output,
        )
        return

    def act(connection: Connection) -> tuple[dict[str, Any], questions.Progress]:
        found = questions.get_backfill(connection, backfill_id)
        return found, questions.progress(connection, backfill_id, now=edge.now())

    found, far = in_database(act)
    record = {
        "id": backfill_id,
        "dag_id": found["dag_id"],
        "state": far.state,
        "from_date": found["from_date"],
        "to_date": found["to_date"],
        "runs": far.total,
        **{f"runs_{state}": number for state, number in sorted(far.counts.items())},
        "remaining_seconds": None if far.remaining is None else round(far.remaining.total_seconds(), 1),
        "max_active_runs": found["max_active_runs"],
        "run_backwards": found["run_backwards"],
        "reprocess_behavior": found["reprocess_behavior"],
        "made_by": found["triggering_user"],
        "created_at": found["created_at"],
        "completed_at": found["completed_at"],
    }
    show_record(record, output)


@backfill.command(examples=("treadle backfill pause 3",))
@click.argument("backfill_id", type=int)
def pause(backfill_id: int) -> None:
    """Start no more runs of the backfill BACKFILL_ID; running ones go on."""
    _change(backfill_id, "pause_backfill", lambda connection: backfills.set_paused(connection, backfill_id, True))
    say(f"Backfill {backfill_id} is paused; running runs go on to their end.")


@click.command(cls=Command, examples=("treadle backfill resume 3",))
@click.argument("backfill_id", type=int)
def resume(backfill_id: int) -> None:
    """Let the paused backfill BACKFILL_ID go on."""
    _change(backfill_id, "unpause_backfill", lambda connection: backfills.set_paused(connection, backfill_id, False))
    say(f"Backfill {backfill_id} goes on.")


backfill.add_command(resume)
backfill.add_command(resume, "unpause")


@backfill.command(examples=("treadle backfill cancel 3",))
@click.argument("backfill_id", type=int)
def cancel(backfill_id: int) -> None:
    """End the backfill BACKFILL_ID: its queued runs fail, running ones go on to their end."""
    _change(
        backfill_id, "cancel_backfill", lambda connection: backfills.cancel(connection, backfill_id, now=edge.now())
    )
    say(f"Backfill {backfill_id} is cancelled; running runs go on to their end.")


def _change(backfill_id: int, event: str, act: Callable[[Connection], None]) -> None:
    def recorded(connection: Connection) -> None:
        dag_id = questions.get_backfill(connection, backfill_id)["dag_id"]
        act(connection)
        detail = {"backfill": backfill_id}
        audit.record(connection, actor=edge.actor(), event=event, now=edge.now(), dag_id=dag_id, detail=detail)

    in_database(recorded)


def _one_of(dag_id: str | None, dag_option: str | None) -> str:
    if (dag_id is None) == (dag_option is None):
        raise click.UsageError("name one DAG: `treadle dags backfill DAG_ID ...`")
    return dag_id or dag_option or ""


def _preview(made: backfills.Backfill, output: str | None) -> None:
    rows = [asdict(one) for one in made.planned]
    intervals = any(one.data_interval_start != one.data_interval_end for one in made.planned)
    columns = ("logical_date", *(("data_interval_start", "data_interval_end") if intervals else ()), "action", "reason")
    titles = {"data_interval_start": "from", "data_interval_end": "to"}
    show(Listing(columns, rows, "The schedule has no date in there.", titles), output)


def _tell(dag_id: str, made: backfills.Backfill) -> None:
    actions = [one.action for one in made.planned]
    parts = [
        counted(actions.count("create"), "new run"),
        f"{actions.count('rerun')} to run again",
        f"{actions.count('skip')} left as they are",
    ]
    say(f"Backfill {made.id} of DAG {dag_id}: {', '.join(parts)}.")


def _wait(backfill_id: int) -> bool:
    """Show a bar until the last run has ended; tell whether none failed. Ctrl-C ends the bar, never the backfill."""
    dag_id = in_database(lambda connection: questions.get_backfill(connection, backfill_id)["dag_id"])
    with progress(f"backfill {backfill_id} of {dag_id}") as bar:

        def seen(far: questions.Progress) -> None:
            words = ", ".join(f"{number} {state}" for state, number in sorted(far.counts.items()))
            bar.update(far.done, far.total, f"{words}{_remaining(far)}")

        far = until(
            lambda connection: questions.progress(connection, backfill_id, now=edge.now()),
            lambda found: found.done == found.total,
            seen,
            what=f"backfill {backfill_id}",
        )
    failed = far.counts.get("failed", 0)
    say(f"Backfill {backfill_id}: {counted(far.counts.get('success', 0), 'run')} succeeded, {failed} failed.")
    return failed == 0


def _remaining(far: questions.Progress) -> str:
    if far.remaining is None:
        return f"; {far.state}" if far.state != "running" else ""
    return f"; about {timedelta(seconds=round(far.remaining.total_seconds()))} to go"
