"""``treadle worker``."""

from __future__ import annotations

import logging
import signal
from types import FrameType

import click

from treadle_cli.clicks import Command
from treadle_cli.commands.daemons.starting import prepared
from treadle_cli.errors import CliError
from treadle_executors.transactional.executor import KIND
from treadle_executors.transactional.worker import Worker
from treadle_metadata import processes
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database

log = logging.getLogger(__name__)


@click.command(cls=Command, examples=("treadle worker", "treadle worker --queues default,gpu --concurrency 8"))
@click.option("-q", "--queues", default="default", show_default=True, help="Queues to take from, with commas between.")
@click.option("-c", "--concurrency", type=click.IntRange(1), default=16, show_default=True, help="Attempts at once.")
def worker(queues: str, concurrency: int) -> None:
    """Take attempts of the executor transactional from the database and run them, until Ctrl-C or SIGTERM.

    Needs the database, the DAG files, and the logs folder that the web server reads. Any number may run at a time.
    Stopped in order, it hands back what it runs, free of charge.
    """
    names = [one.strip() for one in queues.split(",") if one.strip()]
    if not names:
        raise CliError("no queue is named: give at least one with --queues")
    settings = prepared("worker")
    database = Database(
        settings.database_url,
        application_name="treadle worker",
        idle_seconds=settings.lease_seconds,
        plan_once=True,
    )
    one = Worker(database, settings, names, concurrency)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        one.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with processes.Lease(database, KIND, SystemClock(), settings):
        log.info("worker of queues %s started, up to %d attempts at once", ", ".join(names), concurrency)
        one.run()
    database.close()
