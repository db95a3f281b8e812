"""``treadle dags``: its commands, found when they are called."""

from __future__ import annotations

from typing import Final

import click

from treadle_cli.clicks import Entry, LazyGroup

_HERE: Final = "treadle_cli.commands.dags"
_LOOK: Final = "Look"
_ACT: Final = "Act"
_TRY: Final = "Without a server or database"

COMMANDS: Final = {
    "list": Entry(f"{_HERE}.listing:list_", "All DAGs, with schedule and next run.", _LOOK),
    "details": Entry(f"{_HERE}.listing:details", "All that is known about one DAG.", _LOOK),
    "list-runs": Entry(f"{_HERE}.listing:list_runs", "The runs of a DAG, newest first.", _LOOK),
    "list-import-errors": Entry(f"{_HERE}.listing:list_import_errors", "DAG files that cannot be read.", _LOOK),
    "list-warnings": Entry(f"{_HERE}.listing:list_warnings", "What is odd about DAGs that can be read.", _LOOK),
    "why": Entry(f"{_HERE}.why:why", "Why it is not running, in one line.", _LOOK),
    "missed": Entry(f"{_HERE}.missed:missed", "Times of the schedule that became no run.", _LOOK),
    "diff": Entry(f"{_HERE}.diff:diff", "What differs between two versions.", _LOOK),
    "simulate": Entry(f"{_HERE}.simulate:simulate", "What would run when, in virtual time.", _LOOK),
    "trigger": Entry(f"{_HERE}.trigger:trigger", "Start a run now; --wait for its end.", _ACT),
    "pause": Entry(f"{_HERE}.acts:pause", "Stop making and starting runs.", _ACT),
    "unpause": Entry(f"{_HERE}.acts:unpause", "Make and start runs again.", _ACT),
    "backfill": Entry("treadle_cli.commands.backfill:create", "Run a DAG for dates in the past.", _ACT),
    "clear": Entry(f"{_HERE}.clear:clear", "Let whole runs run again.", _ACT),
    "delete": Entry(f"{_HERE}.acts:delete", "Delete a DAG's history.", _ACT),
    "show": Entry(f"{_HERE}.show:show", "The graph as text, SVG, PNG or DOT.", _TRY),
    "test": Entry(f"{_HERE}.test:test", "Run a whole DAG in this process.", _TRY),
    "next-execution": Entry(f"{_HERE}.next_execution:next_execution", "When the next runs will be.", _TRY),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    examples=("treadle dags list", "treadle dags test daily_sales 2026-03-01"),
)
def dags() -> None:
    """List, show, test, trigger and pause DAGs."""
