"""``treadle tasks code``: the source text that an attempt ran, whatever became of the file since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from sqlalchemy import Connection

from treadle_cli.clicks import Command
from treadle_cli.database import in_database
from treadle_cli.errors import CliError
from treadle_cli.output import say
from treadle_cli.run_names import HELP, find_run
from treadle_metadata.queries.task_instances import get_instance, get_try
from treadle_metadata.queries.versions import source_of


@click.command(
    cls=Command,
    help=f"Print the DAG file as an attempt of the task TASK_ID of the DAG DAG_ID ran it. {HELP}",
    examples=("treadle tasks code daily_sales load", "treadle tasks code daily_sales load 2026-03-01 --try 1"),
)
@click.argument("dag_id")
@click.argument("task_id")
@click.argument("run", required=False)
@click.option("-m", "-i", "--map-index", type=int, default=-1, help="Which instance of a mapped task.")
@click.option("-t", "--try", "try_number", type=click.IntRange(min=1), help="Which try; the newest if not given.")
def code(dag_id: str, task_id: str, run: str | None, map_index: int, try_number: int | None) -> None:
    """Print the source of an attempt."""

    def act(connection: Connection) -> tuple[dict[str, Any], str | None]:
        found = find_run(connection, dag_id, run)
        instance = get_instance(connection, dag_id, found["run_id"], task_id, map_index)
        number = try_number or instance["try_number"]
        if number == 0:
            raise CliError(f"task {task_id!r} of run {found['run_id']!r} has had no attempt yet, so it ran no code")
        attempt = get_try(connection, instance, number)
        return attempt, source_of(connection, attempt["code_hash"])

    attempt, source = in_database(act)
    if source is None:
        raise CliError(_not_kept(attempt))
    say(f"version {attempt['version_number']}, text {attempt['code_hash'][:12]}")
    click.echo(source, nl=False)


def _not_kept(attempt: Mapping[str, Any]) -> str:
    which = f"the text that try {attempt['try_number']} ran"
    if attempt["code_hash"] is None:
        return f"{which} is not known: it ran before texts were kept"
    return (
        f"{which} (SHA-256 {attempt['code_hash'][:12]}...) was not kept: "
        "the file was edited again before the DAG processor had read it"
    )
