"""The program ``treadle``: the table of its commands, and how an error is told.

Imports nothing but click, so that ``treadle --help`` and shell completion answer at once (a test lists what may be
imported). Exit codes: 0 done, 1 failed, 2 wrong usage,
130 when Ctrl-C ended the waiting for something that goes on.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

import click

from treadle_cli import errors
from treadle_cli.clicks import Entry, LazyGroup
from treadle_cli.errors import StoppedWaiting

_WORK: Final = "DAGs and their runs"
_DRAWN_ON: Final = "What tasks draw on"
_SERVICE: Final = "Start the service"
_CARE: Final = "Look after the installation"

COMMANDS: Final = {
    "dags": Entry("treadle_cli.commands.dags:dags", "List, show, test, trigger and pause DAGs.", _WORK),
    "tasks": Entry("treadle_cli.commands.tasks:tasks", "List, test and clear tasks; read their logs.", _WORK),
    "runs": Entry("treadle_cli.commands.runs:runs", "Set the state of runs, delete them.", _WORK),
    "deadlines": Entry("treadle_cli.commands.deadlines:deadlines", "Deadlines of runs, kept and missed.", _WORK),
    "callbacks": Entry("treadle_cli.commands.callbacks:callbacks", "What was called at ends and deadlines.", _WORK),
    "steps": Entry("treadle_cli.commands.steps:steps", "Durable steps: list, accept, discard, post tokens.", _WORK),
    "humans": Entry("treadle_cli.commands.humans:humans", "What tasks ask people; answer it.", _WORK),
    "backfill": Entry("treadle_cli.commands.backfill:backfill", "Run a DAG for dates in the past.", _WORK),
    "assets": Entry("treadle_cli.commands.assets:assets", "Data that tasks make and DAGs wait for.", _WORK),
    "pools": Entry("treadle_cli.commands.pools:pools", "Slots that tasks share.", _DRAWN_ON),
    "variables": Entry("treadle_cli.commands.variables:variables", "Values that tasks read by key.", _DRAWN_ON),
    "connections": Entry(
        "treadle_cli.commands.connections:connections", "Addresses and credentials of other systems.", _DRAWN_ON
    ),
    "standalone": Entry(
        "treadle_cli.commands.daemons.standalone:standalone", "Everything on this machine, database included.", _SERVICE
    ),
    "scheduler": Entry(
        "treadle_cli.commands.daemons.scheduler:scheduler", "The scheduler and its executors.", _SERVICE
    ),
    "dag-processor": Entry(
        "treadle_cli.commands.daemons.dag_processor:dag_processor", "Reads DAG files as they change.", _SERVICE
    ),
    "triggerer": Entry(
        "treadle_cli.commands.daemons.triggerer:triggerer", "Runs what deferred tasks wait for.", _SERVICE
    ),
    "webserver": Entry("treadle_cli.commands.daemons.webserver:webserver", "The REST API and the web pages.", _SERVICE),
    "task": Entry(
        "treadle_cli.commands.task:task", "Run one attempt that an executor prepared, as in a pod.", _SERVICE
    ),
    "worker": Entry(
        "treadle_cli.commands.daemons.worker:worker", "Takes attempts from the database and runs them.", _SERVICE
    ),
    "celery": Entry("treadle_cli.commands.celery:celery", "Workers that take attempts from a broker.", _SERVICE),
    "kubernetes": Entry("treadle_cli.commands.kubernetes:kubernetes", "Pods of the executor kubernetes.", _SERVICE),
    "users": Entry("treadle_cli.commands.users:users", "Accounts that may log in.", _CARE),
    "roles": Entry("treadle_cli.commands.roles:roles", "What roles and grants allow.", _CARE),
    "teams": Entry("treadle_cli.commands.teams:teams", "Teams, their folders and members.", _CARE),
    "tokens": Entry("treadle_cli.commands.tokens:tokens", "API tokens of programs.", _CARE),
    "audit": Entry("treadle_cli.commands.audit:audit", "Who changed what.", _CARE),
    "db": Entry("treadle_cli.commands.db:db", "Migrate, check and open the database.", _CARE),
    "config": Entry("treadle_cli.commands.config:config", "Settings and where each comes from.", _CARE),
    "info": Entry("treadle_cli.commands.info:info", "This installation in one page.", _CARE),
    "version": Entry("treadle_cli.commands.version:version", "The version of Treadle.", _CARE),
    "completion": Entry("treadle_cli.commands.completion:completion", "Shell completion script.", _CARE),
}


class _Stopped(click.ClickException):
    exit_code = 130


class Root(LazyGroup):
    """The outermost group: turns every error into one line on stderr, unless ``--debug`` asks for the traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:
            # Whoever read the output has seen enough; what is still buffered has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            raise (_Stopped if isinstance(error, StoppedWaiting) else click.ClickException)(
                errors.sentence(error)
            ) from error


def _tell_version(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Run the command ``version``, which is loaded then only."""
    command = ctx.command.get_command(ctx, "version") if asked and isinstance(ctx.command, click.Group) else None
    if command is not None:
        ctx.invoke(command)
        ctx.exit()


@click.group(
    cls=Root,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    examples=("treadle standalone", "treadle dags trigger daily_sales --wait"),
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_tell_version, help="Show the version."
)
@click.option("--debug", is_flag=True, envvar="TREADLE_DEBUG", help="Show the traceback of an error.")
def root(debug: bool) -> None:
    """Treadle runs DAGs of Python tasks on a schedule."""


def main() -> None:
    """Run the command that ``sys.argv`` names, and exit with its code."""
    root(prog_name="treadle")
