"""What ``treadle tasks clear`` and ``treadle dags clear`` share: their options, the preview, the question, the act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.database import in_database
from treadle_cli.output import Listing, counted, output_option, say, show
from treadle_cli.run_names import find_run
from treadle_metadata import audit, clearing
from treadle_metadata.queries.versions import newest_document
from treadle_metadata.selecting import Selection

_COLUMNS: Final = ("dag_id", "run_id", "logical_date", "task_id", "map_index", "state", "action")

_OPTIONS: Final = (
    click.option("-r", "--run-id", "run", help="Only this run (its id or logical date; a date alone: that day's run)."),
    click.option("--past", is_flag=True, help="With --run-id: also the runs before it."),
    click.option("--future", is_flag=True, help="With --run-id: also the runs after it."),
    click.option("-s", "--start-date", type=edge.Moment(), help="Only runs with this logical date or a later one."),
    click.option(
        "-e", "--end-date", type=edge.Moment(end_of_day=True), help="Only runs up to this logical date, included."
    ),
    click.option(
        "-f", "--only-failed", is_flag=True, help="Only instances that failed, or could not run because of that."
    ),
    click.option("--only-running", is_flag=True, help="Only instances that run now; they are ended and start over."),
    click.option(
        "--latest/--original",
        default=None,
        help="Go on with the DAG's newest version, or with the run's own; default: what DAG and settings say.",
    ),
    click.option("--dry-run", is_flag=True, help="Only show what would change."),
    click.option("-y", "--yes", is_flag=True, help="Do not ask."),
    output_option,
)


def clear_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which runs are meant, and how; they arrive as keywords of :func:`clear_selected`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class _Runs:
    """Which runs are meant, as typed."""

    run: str | None
    past: bool
    future: bool
    start_date: datetime | None
    end_date: datetime | None


def clear_selected(
    selection: Selection,
    *,
    run: str | None,
    past: bool,
    future: bool,
    start_date: datetime | None,
    end_date: datetime | None,
    only_failed: bool,
    only_running: bool,
    latest: bool | None,
    dry_run: bool,
    yes: bool,
    output: str | None,
) -> None:
    """Show what clearing changes and, after a yes, do it."""
    if (past or future) and run is None:
        raise click.UsageError("--past and --future say which runs around one are meant: name it with --run-id")
    selection = replace(selection, only_failed=only_failed, only_running=only_running)
    runs = _Runs(run, past, future, start_date, end_date)
    selection = in_database(lambda connection: _narrowed(connection, selection, runs))
    default = edge.settings().rerun_with_latest_version
    planned = in_database(lambda connection: clearing.plan(connection, selection, latest=latest, default=default))
    _show(planned, output)
    if planned.on_older_versions:
        number = counted(planned.on_older_versions, "run")
        say(f"{number} of an older version of the DAG: that one runs again, unless --latest is given")
    if not planned or dry_run:
        return
    edge.confirm(_question(planned), yes=yes)
    done = in_database(lambda connection: _clear(connection, selection, latest, default))
    say(f"Cleared {counted(len(done.all_cleared), 'task instance')} of {counted(done.runs_in_all, 'run')}.")


def _narrowed(connection: Connection, selection: Selection, runs: _Runs) -> Selection:
    zone = newest_document(connection, selection.dag_id).timezone
    return replace(
        selection,
        run_id=None if runs.run is None else find_run(connection, selection.dag_id, runs.run)["run_id"],
        include_past=runs.past,
        include_future=runs.future,
        start_date=edge.localised(runs.start_date, zone),
        end_date=edge.localised(runs.end_date, zone),
    )


def _show(planned: clearing.Plan, output: str | None) -> None:
    rows = [{name: one[name] for name in _COLUMNS} for one in planned.changes]
    left_out = {"map_index"} if all(one["map_index"] < 0 for one in rows) else set()
    left_out |= {"action"} if all(one["action"] == "clear" for one in rows) else set()
    left_out |= set() if planned.beyond else {"dag_id"}
    titles = {"dag_id": "DAG", "run_id": "run", "task_id": "task", "map_index": "index"}
    columns = tuple(name for name in _COLUMNS if name not in left_out)
    show(Listing(columns, rows, "There is nothing to clear.", titles, ("logical_date",)), output)


def _question(planned: clearing.Plan) -> str:
    moves = planned.moves
    more = ""
    if moves.runs:
        parts = [f"move {counted(len(moves.runs), 'run')} to the newest version"]
        parts += [f"add {counted(len(moves.added), 'new task instance')}"] if moves.added else []
        parts += [f"remove {counted(len(moves.removed), 'former one')}"] if moves.removed else []
        more = f" and {', '.join(parts)}"
    number = counted(len(planned.all_cleared), "task instance")
    return f"Clear {number} of {counted(planned.runs_in_all, 'run')}{more}?"


def _clear(connection: Connection, selection: Selection, latest: bool | None, default: bool) -> clearing.Plan:
    now = edge.now()
    done = clearing.clear(connection, selection, latest=latest, default=default, now=now)
    detail = {
        "instances": len(done.changes),
        "task_regex": selection.task_regex,
        "only_failed": selection.only_failed,
        "moved_runs": len(done.moves.runs),
    }
    audit.record(
        connection,
        actor=edge.actor(),
        event="clear_task_instances",
        now=now,
        dag_id=selection.dag_id,
        run_id=selection.run_id,
        detail=detail,
    )
    return done
