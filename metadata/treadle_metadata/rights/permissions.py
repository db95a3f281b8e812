"""What can be allowed, of what, and what the built-in roles allow. Pure; the page of rights is generated from here.

A permission of DAGs counts for the DAGs of one team, or one DAG, when it is held there only; one of teams' things for
that team's pools, variables and connections; one of the installation counts only when it is held everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from treadle_metadata.errors import InvalidRequestError, NotFoundError


class Permission(StrEnum):
    """What a route may need."""

    PUBLIC = "public"
    """No login at all."""
    ATTEMPT = "token of an attempt"
    """No account: the route itself asks for the token of the attempt that it is about."""
    TRIGGERER = "token of a triggerer"
    """No account: the token that a triggerer was started with, or got with its last beat."""
    AWAKEABLE = "token of an awakeable"
    """No account: the token of a durable step that waits for an outside party, good for one post."""
    LOGGED_IN = "logged in"
    """Any account."""
    READ_DAGS = "read DAGs"
    """DAGs, their versions, runs, task instances, backfills, assets, warnings, and why something waits."""
    READ_CODE = "read code"
    """The source of DAG files, the differences between versions, and what was wrong with a file."""
    READ_LOGS = "read logs"
    """What tasks and callbacks wrote."""
    READ_XCOMS = "read XComs"
    """What tasks handed to one another, and the values of durable steps."""
    EDIT_XCOMS = "edit XComs"
    READ_AUDIT = "read the audit log"
    """Who changed what of a DAG."""
    TRIGGER_RUNS = "trigger runs"
    """Make runs: single ones, backfills, and by asset events."""
    CLEAR_RUNS = "clear runs"
    """Let runs and task instances run again."""
    EDIT_RUNS = "edit runs"
    """Set states and notes of runs and task instances, answer what people are asked, delete runs."""
    EDIT_DAGS = "edit DAGs"
    """Pause, unpause and delete DAGs."""
    READ_POOLS = "read pools"
    EDIT_POOLS = "edit pools"
    READ_VARIABLES = "read variables"
    EDIT_VARIABLES = "edit variables"
    READ_CONNECTIONS = "read connections"
    """All but passwords and extras, which nobody reads."""
    EDIT_CONNECTIONS = "edit connections"
    READ_CONFIG = "read settings"
    """The settings, masked, and what is installed."""
    READ_WHOLE_AUDIT = "read the whole audit log"
    """Changes that concern no DAG as well: accounts, rights, pools, variables, connections."""
    MANAGE_ACCOUNTS = "manage accounts"
    """Accounts, roles, teams, grants, and everybody's sessions and tokens."""


P = Permission

WITHOUT_ACCOUNT: Final = frozenset({P.PUBLIC, P.ATTEMPT, P.TRIGGERER, P.AWAKEABLE})
OF_DAGS: Final = frozenset(
    {
        P.READ_DAGS,
        P.READ_CODE,
        P.READ_LOGS,
        P.READ_XCOMS,
        P.EDIT_XCOMS,
        P.READ_AUDIT,
        P.TRIGGER_RUNS,
        P.CLEAR_RUNS,
        P.EDIT_RUNS,
        P.EDIT_DAGS,
    }
)
"""Can be granted for one DAG, and held in a team for its DAGs."""
OF_TEAMS: Final = frozenset(
    {
        P.READ_POOLS,
        P.EDIT_POOLS,
        P.READ_VARIABLES,
        P.EDIT_VARIABLES,
        P.READ_CONNECTIONS,
        P.EDIT_CONNECTIONS,
    }
)
"""Can be held in a team for its pools, variables and connections."""
OF_INSTALLATION: Final = frozenset({P.READ_CONFIG, P.READ_WHOLE_AUDIT, P.MANAGE_ACCOUNTS})
GIVEN: Final = OF_DAGS | OF_TEAMS | OF_INSTALLATION
"""What a role can hold."""
READING: Final = frozenset(one for one in OF_DAGS | OF_TEAMS | OF_INSTALLATION if one.name.startswith("READ_"))

_VIEWER = frozenset({P.READ_DAGS, P.READ_CODE, P.READ_LOGS, P.READ_XCOMS, P.READ_AUDIT, P.READ_POOLS})
_USER = _VIEWER | {P.TRIGGER_RUNS, P.CLEAR_RUNS, P.EDIT_RUNS, P.EDIT_DAGS}
_OP = _USER | OF_TEAMS | {P.EDIT_XCOMS, P.READ_CONFIG, P.READ_WHOLE_AUDIT}

MEMBER: Final = "Member"
ROLES: Final[dict[str, frozenset[Permission]]] = {
    MEMBER: frozenset(),
    "Viewer": _VIEWER,
    "User": _USER,
    "Op": _OP,
    "Admin": GIVEN,
}
"""The built-in roles. A Member may log in, and do what its teams and grants allow."""

READ_SCOPE: Final = "read"
"""A scope of tokens that stands for all of ``READING``."""


def checked_permissions(names: Iterable[str], among: frozenset[Permission] = GIVEN) -> tuple[Permission, ...]:
    """Return the permissions with these names, each once, sorted; ``read`` stands for all that only reads.

    A name may also be that of the member: ``READ_AUDIT``, ``read-audit``.

    Raises:
        NotFoundError: there is no such permission; the message names the nearest one.
        InvalidRequestError: a permission cannot be given here.
    """
    by_name = {_plain(name): one for one in GIVEN for name in (one.value, one.name)}
    found: set[Permission] = set()
    for name in names:
        if _plain(name) == READ_SCOPE:
            found |= READING & among
            continue
        one = by_name.get(_plain(name))
        if one is None:
            options = [held.name.lower().replace("_", "-") for held in among]
            raise NotFoundError("permission", name, sorted([*(held.value for held in among), *options]))
        if one not in among:
            listed = ", ".join(repr(one.value) for one in sorted(among))
            raise InvalidRequestError(f"permission {one.value!r} cannot be given here; expected one of {listed}")
        found.add(one)
    return tuple(sorted(found))


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", " ").replace("_", " ")
