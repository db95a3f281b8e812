"""``treadle backfill`` (and ``treadle dags backfill``): runs of a DAG for dates in the past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command, Group
from treadle_cli.database import every, in_database
from treadle_cli.output import Listing, counted, output_option, say, show
from treadle_cli.typed import parsed_object
from treadle_cli.waiting import progress, until
from treadle_metadata import audit, backfills
from treadle_metadata.queries import backfills as questions
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
    type=click.Choice(backfills.REPROCESS),
    default="none",
    show_default=True,
    help="Which dates that have a run already run again: none, those that failed, all completed ones.",
)
@click.option("-c", "--conf", "--dag-run-conf", help="The runs' params, as a JSON object.")
@click.option("--run-backwards", is_flag=True, help="The newest date first.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option(
    "-w", "--wait", "--progress", is_flag=True, help="Wait for the end of all runs; exit code 1 if any fails."
)
@output_option
@click.pass_context
def create(
    ctx: click.Context,
    dag_id: str | None,
    dag_option: str | None,
    start: datetime,
    end: datetime,
    max_active_runs: int,
    reprocess: str,
    conf: str | None,
    run_backwards: bool,
    dry_run: bool,
    wait: bool,
    output: str | None,
) -> None:
    """Make the runs of the DAG DAG_ID that its schedule calls for between two dates, both included.

    Dates are in the DAG's time zone. One backfill of a DAG can be under way at a time.
    """
    wanted = _one_of(dag_id, dag_option)
    content, now = parsed_object(conf, "--conf"), edge.now()

    def act(connection: Connection) -> backfills.Backfill:
        zone = newest_document(connection, wanted).timezone
        made = backfills.create(
            connection,
            wanted,
            edge.localised(start, zone) or start,
            edge.localised(end, zone) or end,
            conf=content,
            run_backwards=run_backwards,
            reprocess_behavior=reprocess,
            max_active_runs=max_active_runs,
            dry_run=dry_run,
            cron_style=edge.settings().cron_style,
            user=edge.actor(),
            now=now,
        )
        if not dry_run:
            audit.record(connection, actor=edge.actor(), event="create_backfill", now=now, dag_id=wanted)
        return made

    made = in_database(act)
    if dry_run:
        _preview(made, output)
        return
    _tell(wanted, made)
    if wait and made.id is not None:
        ctx.exit(0 if _wait(wanted, made.id) else 1)


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


@backfill.command(examples=("treadle backfill pause 3",))
@click.argument("backfill_id", type=int)
def pause(backfill_id: int) -> None:
    """Start no more runs of the backfill BACKFILL_ID; running ones go on."""
    in_database(lambda connection: backfills.set_paused(connection, backfill_id, True))
    say(f"Backfill {backfill_id} is paused.")


@backfill.command(examples=("treadle backfill unpause 3",))
@click.argument("backfill_id", type=int)
def unpause(backfill_id: int) -> None:
    """Let the backfill BACKFILL_ID go on."""
    in_database(lambda connection: backfills.set_paused(connection, backfill_id, False))
    say(f"Backfill {backfill_id} goes on.")


@backfill.command(examples=("treadle backfill cancel 3",))
@click.argument("backfill_id", type=int)
def cancel(backfill_id: int) -> None:
    """End the backfill BACKFILL_ID: its queued runs fail, running ones go on to their end."""
    in_database(lambda connection: backfills.cancel(connection, backfill_id, now=edge.now()))
    say(f"Backfill {backfill_id} is cancelled.")


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


def _wait(dag_id: str, backfill_id: int) -> bool:
    with progress(f"backfill of {dag_id}") as bar:

        def seen(counts: Mapping[str, int]) -> None:
            words = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
            bar.update(_over(counts), sum(counts.values()), words)

        counts = until(
            lambda connection: questions.run_counts(connection, backfill_id),
            lambda found: _over(found) == sum(found.values()),
            seen,
            what=f"backfill {backfill_id}",
        )
    failed = counts.get("failed", 0)
    say(f"Backfill {backfill_id}: {counted(counts.get('success', 0), 'run')} succeeded, {failed} failed.")
    return failed == 0


def _over(counts: Mapping[str, int]) -> int:
    return counts.get("success", 0) + counts.get("failed", 0)
