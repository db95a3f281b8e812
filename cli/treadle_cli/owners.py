"""The option ``--team-name`` of commands that make what a team can own: pools, variables, connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from sqlalchemy import Connection

from treadle_metadata.rights.teams import require_team


def team_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--team-name`` to a command."""
    return click.option("--team-name", default="", help="The team whose it is; default: everybody's.")(command)


def require_owner(connection: Connection, team_name: str) -> None:
    """Look whether there is a team of that name, if one is given.

    Raises:
        NotFoundError: there is none.
    """
    if team_name:
        require_team(connection, team_name)
