"""The shapes of accounts, roles, teams, grants, sessions and tokens. No secret but a token that was just made."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from typing_extensions import TypedDict

from treadle_metadata.accounts import Account
from treadle_metadata.rights.grants import Grant
from treadle_metadata.rights.permissions import OF_DAGS, OF_TEAMS, Permission
from treadle_metadata.rights.roles import StoredRole
from treadle_metadata.rights.teams import Team
from treadle_webserver.shapes.times import utc


class PermissionShape(TypedDict):
    """A permission, and of what it can be held: ``dag``, ``team`` (its pools, variables, connections) or ``all``."""

    name: str
    of: str


class AccountShape(TypedDict):
    """An account. ``identity``: whether it is known to the identity provider."""

    username: str
    role: str
    is_active: bool
    identity: bool
    created_at: datetime | None
    last_login_at: datetime | None


class AccountListShape(TypedDict):
    """Accounts."""

    accounts: list[AccountShape]
    total_entries: int


class RoleShape(TypedDict):
    """A role with its permissions."""

    name: str
    description: str
    permissions: list[str]
    is_built_in: bool


class RoleListShape(TypedDict):
    """Roles."""

    roles: list[RoleShape]
    total_entries: int


class TeamShape(TypedDict):
    """A team: the folders of DAG files that it owns, and the role of each member in it."""

    name: str
    description: str
    folders: list[str]
    members: dict[str, str]


class TeamListShape(TypedDict):
    """Teams."""

    teams: list[TeamShape]
    total_entries: int


class GrantShape(TypedDict):
    """What an account or a team's members may do with one DAG."""

    dag_id: str
    username: str | None
    team: str | None
    permissions: list[str]


class GrantListShape(TypedDict):
    """Grants."""

    grants: list[GrantShape]
    total_entries: int


class SessionShape(TypedDict):
    """An open session. ``current``: the one that asks."""

    id: str
    username: str
    in_browser: bool
    address: str
    user_agent: str
    created_at: datetime
    expires_at: datetime
    current: bool


class SessionListShape(TypedDict):
    """Sessions."""

    sessions: list[SessionShape]
    total_entries: int


class ApiTokenShape(TypedDict):
    """An API token. ``scopes`` null: all that its account may do."""

    id: str
    username: str
    name: str
    scopes: list[str] | None
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


class NewTokenShape(TypedDict):
    """A token that was just made: this is the only time that ``token`` can be read."""

    id: str
    name: str
    token: str


class ApiTokenListShape(TypedDict):
    """API tokens."""

    tokens: list[ApiTokenShape]
    total_entries: int


def permission_shape(one: Permission) -> PermissionShape:
    """Return a permission as the API shows it."""
    return {"name": one.value, "of": "dag" if one in OF_DAGS else "team" if one in OF_TEAMS else "all"}


def account_shape(one: Account) -> AccountShape:
    """Return an account as the API shows it."""
    return {
        "username": one.username,
        "role": one.role,
        "is_active": one.is_active,
        "identity": one.identity is not None,
        "created_at": utc(one.created_at),
        "last_login_at": utc(one.last_login_at),
    }


def role_shape(one: StoredRole) -> RoleShape:
    """Return a role as the API shows it."""
    return {
        "name": one.name,
        "description": one.description,
        "permissions": [held.value for held in one.permissions],
        "is_built_in": one.is_built_in,
    }


def team_shape(one: Team) -> TeamShape:
    """Return a team as the API shows it."""
    return {
        "name": one.name,
        "description": one.description,
        "folders": list(one.folders),
        "members": dict(sorted(one.members.items())),
    }


def grant_shape(one: Grant) -> GrantShape:
    """Return a grant as the API shows it."""
    return {
        "dag_id": one.dag_id,
        "username": one.holder.username,
        "team": one.holder.team,
        "permissions": [held.value for held in one.permissions],
    }


def session_shape(row: Mapping[str, Any], current: object) -> SessionShape:
    """Return a session as the API shows it; ``current`` is the id of the one that asks."""
    return {
        "id": str(row["id"]),
        "username": row["username"],
        "in_browser": row["in_browser"],
        "address": row["address"],
        "user_agent": row["user_agent"],
        "created_at": row["created_at"].astimezone(UTC),
        "expires_at": row["expires_at"].astimezone(UTC),
        "current": row["id"] == current,
    }


def token_shape(row: Mapping[str, Any]) -> ApiTokenShape:
    """Return a token as the API shows it."""
    return {
        "id": str(row["id"]),
        "username": row["username"],
        "name": row["name"],
        "scopes": row["scopes"],
        "created_at": row["created_at"].astimezone(UTC),
        "expires_at": row["expires_at"].astimezone(UTC),
        "last_used_at": utc(row["last_used_at"]),
    }
