"""``treadle celery``: workers on other machines, by way of a broker."""

from __future__ import annotations

import importlib
import logging
import os
import socket
import sys
from importlib.util import find_spec

import click

from treadle_cli import edge
from treadle_cli.clicks import Command, Group
from treadle_cli.errors import CliError
from treadle_cli.output import say
from treadle_cli.standalone import daemon_logs
from treadle_executors.celery.options import Options
from treadle_worker.system import hide_memory


class Scale(click.ParamType[tuple[int, int]]):
    """``MOST,FEWEST``: two numbers of attempts."""

    name = "MOST,FEWEST"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return the two numbers."""
        parts = str(value).split(",")
        if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
            self.fail(f"{value!r} is not two numbers, such as 16,4", param, ctx)
        most, fewest = (int(part) for part in parts)
        if not 1 <= fewest <= most:
            self.fail(f"{value!r}: the first must be at least the second, and the second at least 1", param, ctx)
        return most, fewest


@click.group(cls=Group, examples=("treadle celery worker --queues default,gpu",))
def celery() -> None:
    """Run attempts on other machines: the executor celery sends them through a broker to workers."""


@celery.command(
    cls=Command,
    examples=("treadle celery worker", "treadle celery worker --queues default,gpu --concurrency 8 --drain 25"),
)
@click.option("-q", "--queues", default="default", show_default=True, help="Queues to take from, with commas between.")
@click.option("-c", "--concurrency", type=click.IntRange(1), default=16, show_default=True, help="Attempts at once.")
@click.option("--autoscale", type=Scale(), help="Attempts at once as there is work: the most and the fewest.")
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="Seconds that attempts may go on after the order to stop, before they are handed back.",
)
@click.option("-n", "--hostname", help="Name of the worker; default: celery@ and the machine's name.")
def worker(
    queues: str, concurrency: int, autoscale: tuple[int, int] | None, drain: float, hostname: str | None
) -> None:
    """Take attempts from the broker and run them, until Ctrl-C or SIGTERM.

    Needs the settings broker_url and execution_url, the DAG files, and no access to the database. Stopped in order, it
    hands back what it runs, free of charge.
    """
    _need("celery")
    hide_memory()
    daemon_logs.to_terminal("celery worker", sys.stderr, logging.INFO)
    names = [one.strip() for one in queues.split(",") if one.strip()]
    if not names:
        raise CliError("no queue is named: give at least one with --queues")
    options = Options(queues=names, concurrency=concurrency, autoscale=autoscale, drain_seconds=drain, name=hostname)
    # Loaded by name, since Celery is an extra.
    run_worker = importlib.import_module("treadle_executors.celery.worker").run_worker
    sys.exit(run_worker(edge.settings(), options))


@celery.command(cls=Command, examples=("treadle celery check", "treadle celery check --hostname celery@worker-7"))
@click.option("-n", "--hostname", help="Name of the worker; default: celery@ and this machine's name.")
@click.option("-t", "--timeout", type=click.FloatRange(0.1), default=5.0, show_default=True, help="Seconds to wait.")
def check(hostname: str | None, timeout: float) -> None:
    """Ask a worker, through the broker, whether it is there: exit code 0 if it answers, 1 if not.

    Made for health checks of containers. Needs the setting broker_url.
    """
    _need("celery")
    name = hostname or f"celery@{socket.gethostname()}"
    broker = importlib.import_module("treadle_executors.celery.broker").Broker(edge.settings())
    if not broker.answers(name, timeout):
        raise CliError(
            f"worker {name} did not answer within {timeout:g} s: it is not there, or cannot reach the broker"
        )
    say(f"worker {name} answers")


@celery.command(cls=Command, examples=("treadle celery flower --port 5555",))
@click.option("-p", "--port", type=click.IntRange(1, 65535), default=5555, show_default=True, help="Port to listen on.")
def flower(port: int) -> None:
    """Start Flower, Celery's own monitor, if it is installed; it listens on 127.0.0.1."""
    _need("flower")
    url = edge.settings().broker_url
    if not url:
        raise CliError("Flower needs the setting broker_url, such as redis://127.0.0.1:6379/0")
    # By the environment, since everybody may read a process's arguments.
    environment = os.environ | {"CELERY_BROKER_URL": url}
    command = [sys.executable, "-m", "celery", "flower", "--address=127.0.0.1", f"--port={port}"]
    os.execve(sys.executable, command, environment)


def _need(package: str) -> None:
    if find_spec(package) is None:
        what = "treadle[celery]" if package == "celery" else package
        raise CliError(f"the package {package} is not installed; install it with: pip install '{what}'")
