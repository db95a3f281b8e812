"""``treadle task``: what a pod or another machine calls to run one attempt that an executor made for it."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import click

from treadle_cli import edge
from treadle_cli.clicks import Command, Group
from treadle_executors.single.main import run_single


@click.group(cls=Group, examples=("treadle task run",))
def task() -> None:
    """Run one attempt that an executor has prepared; called by pods, hardly ever by people."""


@task.command(cls=Command, examples=("treadle task run", "treadle task run --workload /run/treadle/workload"))
@click.option(
    "-w",
    "--workload",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of the attempt, as JSON; default: what TREADLE_WORKLOAD_FILE names.",
)
def run(workload: Path | None) -> None:
    """Run one attempt and report it to the web server that the setting execution_url names.

    The attempt's token is read from the environment variable TREADLE_ATTEMPT_TOKEN. Exit code: 0 it ended well, 1 it
    failed and the server knows, 3 the server could not be told.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s", stream=sys.stderr)
    sys.exit(run_single(edge.settings(), workload))
