"""``treadle triggerer``."""

from __future__ import annotations

import os
from datetime import timedelta

import click

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.errors import CliError
from treadle_cli.standalone.triggerer import become
from treadle_metadata.clock import SystemClock
from treadle_metadata.settings import Settings
from treadle_metadata.triggerer_tokens import LIFETIME, TriggererTokens
from treadle_triggerer import main


@click.command(
    cls=Command,
    examples=("treadle triggerer", "treadle triggerer --capacity 5000", "treadle triggerer --new-token --days 7"),
)
@click.option(
    "-c",
    "--capacity",
    type=click.IntRange(1, 1_000_000),
    default=main.CAPACITY,
    show_default=True,
    help="How many triggers it takes at most.",
)
@click.option("--new-token", is_flag=True, help="Print a token for a triggerer on another machine, and end.")
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=LIFETIME.days,
    show_default=True,
    help="How long the new token can be used to start one.",
)
def triggerer(capacity: int, new_token: bool, days: int) -> None:
    """Run what deferred tasks and watched assets wait for, until stopped by Ctrl-C or SIGTERM.

    Any number may run at a time. It needs the DAG files and the web server's address (setting execution_url, else host
    and port), and no database. It proves itself with TREADLE_TRIGGERER_TOKEN, else with a token that it makes from
    the setting jwt_secret.
    """
    settings = edge.settings()
    if new_token:
        click.echo(_token(settings, timedelta(days=days)))
        return
    become(settings, os.environ.pop(main.TOKEN, "") or _token(settings, LIFETIME), capacity)


def _token(settings: Settings, lifetime: timedelta) -> str:
    if not settings.jwt_secret:
        raise CliError(
            f"no token: set {main.TOKEN} to one that 'treadle triggerer --new-token' printed on the server's machine, "
            "or set jwt_secret"
        )
    return TriggererTokens(settings.jwt_secret).issue(now=SystemClock().now(), lifetime=lifetime)
