"""``treadle steps list | show | accept | discard | post``: durable steps and what people decide about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle import xcom
from treadle_cli import edge
from treadle_cli.clicks import Command, Group
from treadle_cli.database import in_database
from treadle_cli.errors import CliError
from treadle_cli.output import Listing, Row, output_option, say, show
from treadle_cli.run_names import HELP, find_run
from treadle_metadata import audit, journals
from treadle_metadata.queries.steps import failures_of, journals_of_run, steps_of
from treadle_metadata.queries.task_instances import get_instance

_JOURNALS: Final = ("task_id", "map_index", "state", "steps", "waiting", "due_at", "plan", "refused_plan")
_STEPS: Final = ("name", "kind", "state", "value", "done_at", "due_at", "idempotency_key")
_SHOWN: Final = 60

Act = Callable[[Connection, dict[str, Any]], str]


@click.group(
    cls=Group,
    examples=("treadle steps list daily_sales", "treadle steps show daily_sales scheduled__2026-03-01 pay"),
)
def steps() -> None:
    """Durable steps: what tasks have done for good, and what they wait for."""


@click.command(
    "list",
    cls=Command,
    help=f"List the tasks of a run of the DAG DAG_ID that have a journal of durable steps. {HELP}",
    examples=("treadle steps list daily_sales",),
)
@click.argument("dag_id")
@click.argument("run", required=False)
@output_option
def list_(dag_id: str, run: str | None, output: str | None) -> None:
    """List the journals of a run."""
    found = in_database(lambda connection: journals_of_run(connection, find_run(connection, dag_id, run)))
    left_out = {name for name in ("due_at", "refused_plan") if not any(row[name] for row in found)}
    left_out |= {"map_index"} if all(row["map_index"] < 0 for row in found) else set()
    columns = tuple(name for name in _JOURNALS if name not in left_out)
    titles = {"task_id": "task", "map_index": "index", "due_at": "waits until"}
    show(Listing(columns, found, "No task of the run has durable steps.", titles), output)


def _instance_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in (
        click.option("--map-index", type=int, default=-1, help="Which instance of a mapped task."),
        click.argument("task_id"),
        click.argument("run"),
        click.argument("dag_id"),
    ):
        command = decorate(command)
    return command


@click.command("show", cls=Command, examples=("treadle steps show daily_sales scheduled__2026-03-01 pay",))
@_instance_arguments
@output_option
def show_(dag_id: str, run: str, task_id: str, map_index: int, output: str | None) -> None:
    """Show the steps of the task TASK_ID in the run RUN of the DAG DAG_ID, with their idempotency keys.

    Tries that failed stand among them.
    """

    def act(connection: Connection) -> list[Row]:
        found = find_run(connection, dag_id, run)
        instance = get_instance(connection, dag_id, found["run_id"], task_id, map_index)
        whole = output in ("json", "yaml")
        rows = [(row["begun_at"], _shown(row, whole=whole)) for row in steps_of(connection, instance)]
        rows += [(row["failed_at"], _failed(row, whole=whole)) for row in failures_of(connection, instance)]
        return [row for _, row in sorted(rows, key=itemgetter(0))]

    titles = {"done_at": "done", "due_at": "due", "idempotency_key": "idempotency key"}
    rows = in_database(act)
    show(Listing(_STEPS, rows, "The task has no durable steps.", titles, ("idempotency_key", "due_at")), output)


@click.command(cls=Command, examples=("treadle steps accept daily_sales scheduled__2026-03-01 pay",))
@_instance_arguments
def accept(dag_id: str, run: str, task_id: str, map_index: int) -> None:
    """Let the code that was refused go on with the recorded steps of a task, and the task run again."""

    def act(connection: Connection, instance: dict[str, Any]) -> str:
        plan = journals.accept(connection, instance, now=edge.now())
        return f"Code {plan} goes on with the recorded steps."

    _decide(dag_id, run, task_id, map_index, "accept_steps", act)


@click.command(cls=Command, examples=("treadle steps discard daily_sales scheduled__2026-03-01 pay --yes",))
@_instance_arguments
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def discard(dag_id: str, run: str, task_id: str, map_index: int, yes: bool) -> None:
    """Discard the recorded steps of a task: all are done anew, with new idempotency keys. A failed task runs again."""
    edge.confirm(f"Discard the steps of task {task_id!r} of run {run!r}? What they did is done again.", yes=yes)

    def act(connection: Connection, instance: dict[str, Any]) -> str:
        again = journals.discard(connection, instance, now=edge.now())
        return "Discarded; the task runs again." if again else "Discarded."

    _decide(dag_id, run, task_id, map_index, "discard_steps", act)


@click.command(cls=Command, examples=("""treadle steps post k3J... --payload '{"approved": true}'""",))
@click.argument("token")
@click.option("-p", "--payload", default="null", help="What the awakeable comes to, as JSON.")
def post(token: str, payload: str) -> None:
    """Post TOKEN, the single-use token of an awakeable: the task that waits for it goes on."""
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise CliError(f"--payload is no JSON ({error}): a text needs quotes of its own, as in '\"yes\"'") from error
    name = in_database(lambda connection: journals.post(connection, token, value, now=edge.now()))
    say(f"Posted to awakeable {name!r}.")


def _failed(row: dict[str, Any], *, whole: bool) -> Row:
    """Return a try of a step that failed, as a row among the steps."""
    text = f"{row['error_type']}: {row['message']}"
    if whole:
        return row | {"kind": "failure", "value": text, "state": "failed", "done_at": row["failed_at"], "due_at": None}
    state = "failed" if row["wait_seconds"] is None else f"again in {row['wait_seconds']:g} s"
    shown = f"try {row['try_number']}.{row['try']}: {text}"
    return row | {
        "kind": "failure",
        "state": state,
        "value": shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…",
        "done_at": row["failed_at"],
        "due_at": None,
    }


def _decide(dag_id: str, run: str, task_id: str, map_index: int, event: str, decide: Act) -> None:
    def act(connection: Connection) -> str:
        found = find_run(connection, dag_id, run)
        instance = get_instance(connection, dag_id, found["run_id"], task_id, map_index)
        sentence = decide(connection, instance)
        audit.record(
            connection,
            actor=edge.actor(),
            event=event,
            dag_id=dag_id,
            run_id=found["run_id"],
            detail={"task_id": task_id, "map_index": map_index},
            now=edge.now(),
        )
        return sentence

    say(in_database(act))


def _shown(row: Row, *, whole: bool) -> Row:
    value = None if row["value"] is None else xcom.to_plain(row["value"])
    if whole:
        return {**row, "value": value}
    text = "" if row["value"] is None else json.dumps(value, ensure_ascii=False)
    return {**row, "value": text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."}


for _command in (list_, show_, accept, discard, post):
    steps.add_command(_command)
