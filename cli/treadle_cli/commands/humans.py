"""``treadle humans list | show | answer``: what tasks ask people, and their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command, Group
from treadle_cli.database import in_database
from treadle_cli.errors import CliError
from treadle_cli.output import Listing, Row, output_option, say, show, show_record
from treadle_cli.run_names import find_run
from treadle_metadata import audit, human_steps
from treadle_metadata.queries.human_steps import StepFilter, get_step, is_open, list_steps
from treadle_metadata.queries.paging import PageRequest
from treadle_metadata.queries.task_instances import get_instance

_COLUMNS: Final = ("dag_id", "run_id", "task_id", "map_index", "subject", "options", "asked_at", "due_at", "for")
_ANSWERED: Final = (*_COLUMNS, "chosen", "answered_by", "answered_at")


@click.group(
    cls=Group,
    examples=("treadle humans list", "treadle humans answer release scheduled__2026-03-01 approve Approve"),
)
def humans() -> None:
    """Human steps: what tasks ask people, and the answers that they go on with."""


@click.command("list", cls=Command, examples=("treadle humans list", "treadle humans list --dag-id release --all"))
@click.option("-d", "--dag-id", help="Of this DAG only.")
@click.option("-a", "--all", "answered_too", is_flag=True, help="The answered ones, too.")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many, at most.")
@output_option
def list_(dag_id: str | None, answered_too: bool, limit: int, output: str | None) -> None:
    """List the questions that wait for an answer, the oldest first."""
    wanted = StepFilter(dag_id=dag_id, answered=None if answered_too else False)
    found = in_database(lambda connection: list_steps(connection, wanted, PageRequest(limit=limit)).rows)
    rows = [_listed(row) for row in found]
    left_out = {name for name in ("map_index", "due_at", "for") if all(row[name] in (None, "", -1) for row in rows)}
    columns = tuple(name for name in (_ANSWERED if answered_too else _COLUMNS) if name not in left_out)
    titles = {"dag_id": "DAG", "run_id": "run", "task_id": "task", "map_index": "index", "due_at": "until"}
    show(Listing(columns, rows, "Nobody is asked anything.", titles, ("asked_at", "run_id")), output)


@click.command(
    "show",
    cls=Command,
    help="Show what the task TASK_ID of the DAG DAG_ID asks in its run RUN (a run id or a logical date).",
    examples=("treadle humans show release scheduled__2026-03-01 approve",),
)
@click.argument("dag_id")
@click.argument("run")
@click.argument("task_id")
@click.option("--map-index", type=int, default=-1, help="Which instance of a mapped task.")
@output_option
def show_(dag_id: str, run: str, task_id: str, map_index: int, output: str | None) -> None:
    """Show a question."""

    def act(connection: Connection) -> dict[str, Any]:
        found = find_run(connection, dag_id, run)
        return get_step(connection, get_instance(connection, dag_id, found["run_id"], task_id, map_index))

    show_record(_whole(in_database(act)), output)


@click.command(
    cls=Command,
    examples=(
        "treadle humans answer release scheduled__2026-03-01 approve Approve",
        "treadle humans answer release scheduled__2026-03-01 ask yes --param days=5",
    ),
)
@click.argument("dag_id")
@click.argument("run")
@click.argument("task_id")
@click.argument("options", nargs=-1, required=True)
@click.option("-p", "--param", "params", multiple=True, help="NAME=VALUE of the form; the value as JSON, or a text.")
@click.option("--map-index", type=int, default=-1, help="Which instance of a mapped task.")
def answer(
    dag_id: str, run: str, task_id: str, options: tuple[str, ...], params: Sequence[str], map_index: int
) -> None:
    """Answer what the task TASK_ID of the DAG DAG_ID asks in its run RUN with OPTIONS; the task goes on, once.

    Whoever can run this has the database's credentials, and may answer what others are asked.
    """
    given = _values(params)

    def act(connection: Connection) -> Mapping[str, Any]:
        found = find_run(connection, dag_id, run)
        instance = get_instance(connection, dag_id, found["run_id"], task_id, map_index)
        by, now = edge.actor(), edge.now()
        step = human_steps.respond(connection, instance, options, given, by=by, for_others=True, now=now)
        audit.record(
            connection, actor=by, event="answer_human_step", dag_id=dag_id, run_id=found["run_id"], task_id=task_id,
            map_index=map_index, detail={"chosen": list(options)}, now=now,
        )  # fmt: skip
        return step

    step = in_database(act)
    say(f"Answered {step['subject']!r} with {', '.join(step['chosen'])}; the task goes on.")


def _values(params: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for one in params:
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise CliError(f"--param {one!r} is not NAME=VALUE")
        try:
            values[name] = json.loads(text)
        except ValueError:
            values[name] = text
    return values


def _listed(row: Row) -> dict[str, Any]:
    names = ("dag_id", "run_id", "task_id", "map_index", "subject", "options", "asked_at", "due_at")
    return {
        **{name: row[name] for name in names},
        "for": ", ".join(str(one.get("name") or one["id"]) for one in row["assignees"]),
        "chosen": row["chosen"],
        "answered_by": row["answered_by"],
        "answered_at": row["answered_at"],
        "is_open": is_open(row),
    }


def _whole(row: Row) -> dict[str, Any]:
    names = ("body", "defaults", "multiple", "params", "given", "timed_out")
    return {**_listed(row), **{name: row[name] for name in names}}


for _command in (list_, show_, answer):
    humans.add_command(_command)
