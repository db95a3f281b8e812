"""``treadle tasks logs``: the log of an attempt, as it stands or as it grows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.database import in_database, opened
from treadle_cli.errors import CliError
from treadle_cli.output import say
from treadle_cli.run_names import HELP, find_run
from treadle_metadata.connection import Database
from treadle_metadata.queries import logs as questions
from treadle_metadata.queries.task_instances import get_instance, get_try, is_over
from treadle_metadata.remote_logs.places import LogFile, places_of
from treadle_metadata.settings import Settings
from treadle_metadata.states import TaskState

PAUSE: Final = 0.1
"""Seconds between two looks at a log that is followed."""

_REMOTE_PAUSE: Final = 2.0
"""The same where each look costs requests to the remote store, to which a log is sent every few seconds."""

_TO_COME: Final = (TaskState.NONE, TaskState.SCHEDULED, TaskState.RESTARTING)
"""In these states the next try is still to come, although there may be older ones."""

_COLOURS: Final = {"warning": "yellow", "error": "red", "critical": "red", "debug": "bright_black"}


@click.command(
    cls=Command,
    help=f"Print the log of the task TASK_ID of the DAG DAG_ID in a run. {HELP}",
    examples=(
        "treadle tasks logs daily_sales load",
        "treadle tasks logs daily_sales load 2026-03-01 --try 1",
        "treadle tasks logs daily_sales load --follow",
    ),
)
@click.argument("dag_id")
@click.argument("task_id")
@click.argument("run", required=False)
@click.option("-m", "-i", "--map-index", type=int, default=-1, help="Which instance of a mapped task.")
@click.option("-t", "--try", "try_number", type=click.IntRange(min=1), help="Which try; the newest if not given.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the try ends.")
@click.option("--raw", is_flag=True, help="Print the JSON lines as they are stored.")
def logs(
    dag_id: str, task_id: str, run: str | None, map_index: int, try_number: int | None, follow: bool, raw: bool
) -> None:
    """Print the log of a task."""
    settings = edge.settings()

    def act(connection: Connection) -> dict[str, Any]:
        found = find_run(connection, dag_id, run)
        return get_instance(connection, dag_id, found["run_id"], task_id, map_index)

    if follow:
        try:
            with opened() as database:
                _follow(database, settings, database.run(act), try_number, raw=raw)
        except KeyboardInterrupt:
            say("stopped following; the task goes on")
        return
    instance = in_database(act)
    number = try_number or _newest_try(instance)
    if number == 0:
        raise CliError(_nothing_yet(instance))
    attempt = in_database(lambda connection: get_try(connection, instance, number))
    path = _file(settings, instance, attempt)
    print_lines(questions.iterate(path), raw=raw)
    _say_if_empty(path, attempt)


def _follow(
    database: Database, settings: Settings, instance: Mapping[str, Any], try_number: int | None, *, raw: bool
) -> None:
    number = try_number or _awaited_try(database, instance)
    offset = 0
    while True:
        # Asked before reading: what was written before the end is then surely read.
        instance, attempt = database.run(partial(_tried, instance, number))
        path = _file(settings, instance, attempt)
        offset = _print_from(path, offset, raw=raw)
        if is_over(instance, attempt):
            _say_if_empty(path, attempt)
            return
        time.sleep(PAUSE if isinstance(path, Path) else _REMOTE_PAUSE)


def _tried(
    instance: Mapping[str, Any], number: int, connection: Connection
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    known = (instance["dag_id"], instance["run_id"], instance["task_id"], instance["map_index"])
    now = get_instance(connection, *known)
    return now, get_try(connection, now, number)


def _print_from(path: LogFile, offset: int, *, raw: bool) -> int:
    """Print what the log holds from byte ``offset`` on, and return how far it was read."""
    while True:
        chunk = questions.read_chunk(path, offset)
        print_lines(iter(chunk.lines), raw=raw)
        if chunk.at_end or chunk.next_offset == offset:
            return chunk.next_offset
        offset = chunk.next_offset


def _awaited_try(database: Database, instance: Mapping[str, Any]) -> int:
    """Wait until a worker has a try of the instance, or there is none to come, and return its number."""
    known = (instance["dag_id"], instance["run_id"], instance["task_id"], instance["map_index"])
    told = False
    while instance["state"] in _TO_COME:
        if not told:
            say(f"waiting for task {instance['task_id']} to start: its state is {_why(instance)}")
            told = True
        time.sleep(PAUSE)
        instance = database.run(lambda connection: get_instance(connection, *known))
    number = _newest_try(instance)
    if number == 0:
        raise CliError(_nothing_yet(instance))
    return number


def _newest_try(instance: Mapping[str, Any]) -> int:
    """Return the newest try that has a log, 0 if none has."""
    return int(instance["try_number"])


def _nothing_yet(instance: Mapping[str, Any]) -> str:
    where = f"task {instance['task_id']!r} of run {instance['run_id']!r}"
    return f"{where} was not started, so it has no log: its state is {_why(instance)}"


def _file(settings: Settings, instance: Mapping[str, Any], attempt: Mapping[str, Any]) -> LogFile:
    return places_of(settings).find(attempt["log_path"], instance["month"])


def _say_if_empty(path: LogFile, attempt: Mapping[str, Any]) -> None:
    if (reason := questions.why_empty(path, attempt)) is not None:
        say(reason)


def print_lines(lines: Iterator[dict[str, Any]], *, raw: bool) -> None:
    """Print lines of a log, for people or as they are stored."""
    for line in lines:
        if raw:
            click.echo(json.dumps(line, ensure_ascii=False))
            continue
        level = str(line.get("level", "")).lower()
        moment = click.style(str(line.get("time", "")).replace("T", " ")[:23], fg="bright_black")
        name = click.style(f"{level.upper():<7}", fg=_COLOURS.get(level))
        click.echo(f"{moment} {name} {line.get('text', '')}")
        if line.get("exc"):
            click.echo(line["exc"])


def _why(instance: Mapping[str, Any]) -> str:
    reason = f" ({instance['waiting_for']})" if instance["waiting_for"] else ""
    return f"{instance['state']}{reason}"
