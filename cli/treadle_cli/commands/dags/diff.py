"""``treadle dags diff``: what differs between two versions of a DAG."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

import click
from sqlalchemy import Connection

from treadle.differences import Change, Difference, differences
from treadle.document import loads
from treadle_cli.clicks import Command
from treadle_cli.database import in_database
from treadle_cli.errors import CliError
from treadle_cli.output import output_option, say, show_record
from treadle_metadata.queries.versions import get_version


@click.command(
    cls=Command,
    examples=("treadle dags diff daily_sales", "treadle dags diff daily_sales 3 5 --source"),
)
@click.argument("dag_id")
@click.argument("old", required=False, type=click.IntRange(min=1))
@click.argument("new", required=False, type=click.IntRange(min=1))
@click.option("--source", "--code", "source", is_flag=True, help="Show the difference of the source text, too.")
@output_option
def diff(dag_id: str, old: int | None, new: int | None, source: bool, output: str | None) -> None:
    """Show what differs from version OLD of the DAG DAG_ID to version NEW.

    NEW is the newest version if not given, OLD the one before it.
    """

    def act(connection: Connection) -> tuple[dict[str, Any], dict[str, Any]]:
        after = get_version(connection, dag_id, new)
        before = old if old is not None else after["number"] - 1
        if before < 1:
            raise CliError(f"DAG {dag_id!r} has only version {after['number']}: there is none to compare it with")
        return get_version(connection, dag_id, before), after

    before, after = in_database(act)
    found = differences(loads(before["document"]), loads(after["document"]))
    if output is not None:
        show_record(_record(dag_id, before, after, found), output)
        return
    say(f"DAG {dag_id}, from version {before['number']} to version {after['number']}:")
    for line in _lines(found):
        click.echo(line)
    if source:
        click.echo(_source(before, after), nl=False)
    elif before["code"] != after["code"]:
        say("The source text differs (--source shows it).")


def _record(dag_id: str, before: dict[str, Any], after: dict[str, Any], found: Difference) -> dict[str, Any]:
    return {
        "dag_id": dag_id,
        "old_version": before["number"],
        "new_version": after["number"],
        "is_same": not found,
        "source_changed": before["code"] != after["code"],
        "tasks_added": found.tasks_added,
        "tasks_removed": found.tasks_removed,
        "tasks_changed": {one.task_id: _pairs(one.changes) for one in found.tasks_changed},
        "edges_added": found.edges_added,
        "edges_removed": found.edges_removed,
        "schedule": _pairs(found.schedule),
        "dag": _pairs(found.dag),
    }


def _pairs(changes: tuple[Change, ...]) -> dict[str, Any]:
    return {one.field: {"old": one.old, "new": one.new} for one in changes}


def _lines(found: Difference) -> Iterator[str]:
    """Yield a line for each difference: ``+`` and ``-`` what came and went, ``~`` what changed."""
    if not found:
        yield "no difference in tasks, edges, arguments or schedule"
    yield from (f"+ task {name}" for name in found.tasks_added)
    yield from (f"- task {name}" for name in found.tasks_removed)
    yield from (f"+ edge {upstream} -> {downstream}" for upstream, downstream in found.edges_added)
    yield from (f"- edge {upstream} -> {downstream}" for upstream, downstream in found.edges_removed)
    for task in found.tasks_changed:
        yield from (f"~ task {task.task_id}: {_change(one)}" for one in task.changes)
    yield from (f"~ schedule: {_change(one)}" for one in found.schedule)
    yield from (f"~ dag: {_change(one)}" for one in found.dag)


def _change(one: Change) -> str:
    old, new = (json.dumps(value, ensure_ascii=False, sort_keys=True) for value in (one.old, one.new))
    return f"{one.field}: {old} -> {new}"


def _source(before: dict[str, Any], after: dict[str, Any]) -> str:
    texts = [(one["code"].rstrip("\n") + "\n").splitlines(keepends=True) for one in (before, after)]
    titles = [f"version {one['number']}" for one in (before, after)]
    return "".join(difflib.unified_diff(*texts, *titles))
