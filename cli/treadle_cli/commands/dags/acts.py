"""``treadle dags pause | unpause | delete``."""

from __future__ import annotations

import shutil

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.database import in_database
from treadle_cli.output import counted, say
from treadle_metadata import audit, deletion, pausing
from treadle_metadata.queries.dags import get_dag
from treadle_metadata.remote_logs.places import places_of


@click.command(cls=Command, examples=("treadle dags pause daily_sales", "treadle dags pause daily_sales hourly_stock"))
@click.argument("dag_ids", nargs=-1, required=True, metavar="DAG_ID...")
def pause(dag_ids: tuple[str, ...]) -> None:
    """Pause DAGs: no new runs are made or started; running ones go on to their end."""
    _set_paused(dag_ids, paused=True)


@click.command(cls=Command, examples=("treadle dags unpause daily_sales",))
@click.argument("dag_ids", nargs=-1, required=True, metavar="DAG_ID...")
def unpause(dag_ids: tuple[str, ...]) -> None:
    """Unpause DAGs: runs are made by their schedules, and queued ones start."""
    _set_paused(dag_ids, paused=False)


@click.command(cls=Command, examples=("treadle dags delete old_report", "treadle dags delete old_report --yes"))
@click.argument("dag_id")
@click.option("--logs", is_flag=True, help="Delete its logs, too: on this machine and in the remote store.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def delete(dag_id: str, logs: bool, yes: bool) -> None:
    """Delete the DAG DAG_ID with its runs and XComs; its file stays, and its logs unless --logs is given.

    A file that still defines the DAG makes it anew, so delete the file first.
    """
    edge.confirm(f"Delete DAG {dag_id} and its whole history?", yes=yes)

    def act(connection: Connection) -> int:
        runs = deletion.delete_dag(connection, dag_id)
        audit.record(connection, actor=edge.actor(), event="delete_dag", now=edge.now(), dag_id=dag_id)
        return runs

    number = in_database(act)
    places = places_of(edge.settings())
    folder = places.folder / dag_id
    if logs and folder.resolve().parent == places.folder.resolve():
        shutil.rmtree(folder, ignore_errors=True)
    kept = f" Its logs stay in {folder}." if folder.is_dir() else ""
    say(f"DAG {dag_id} is deleted, with {counted(number, 'run')}.{kept}")
    if logs and places.store is not None:
        places.store.delete_dag(dag_id)


def _set_paused(dag_ids: tuple[str, ...], *, paused: bool) -> None:
    now = edge.now()

    def act(connection: Connection) -> list[str]:
        for dag_id in dag_ids:
            get_dag(connection, dag_id)
        changed = pausing.set_paused(connection, dag_ids, paused, now=now)
        for dag_id in changed:
            event = "pause_dag" if paused else "unpause_dag"
            audit.record(connection, actor=edge.actor(), event=event, now=now, dag_id=dag_id)
        return changed

    changed = set(in_database(act))
    for dag_id in dict.fromkeys(dag_ids):
        word = "now" if dag_id in changed else "already"
        say(f"DAG {dag_id} is {word} {'paused' if paused else 'unpaused'}.")
