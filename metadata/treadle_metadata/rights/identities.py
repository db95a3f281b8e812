"""People whom an identity provider vouches for: their account, and the role and teams that their groups give.

Called by the OIDC routes with claims that were checked. Role and teams are set anew at each login, so that who leaves a
group there loses what it gave at the next login here. An account made by hand is never taken over by its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from treadle_metadata.accounts import (
    Account,
    Role,
    change_role,
    create_account,
    find_account,
    find_by_identity,
    logged_in,
    require_account,
)
from treadle_metadata.errors import ConflictError, shown
from treadle_metadata.login_settings import OidcSettings
from treadle_metadata.rights.teams import remove_member, require_team, set_member

_STRENGTH: Final = {role.value: place for place, role in enumerate(Role)}


class NotAdmittedError(ConflictError):
    """The provider knows the person, but nothing lets them in here."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who logged in at the provider. ``identity``: issuer and subject, which never change."""

    identity: str
    username: str
    groups: tuple[str, ...]


def role_of(groups: Collection[str], settings: OidcSettings) -> str | None:
    """Return the role that groups give: the strongest built-in one, else the first that is listed; None: none."""
    given = [role for group, role in settings.roles.items() if group in groups]
    return max(given, key=lambda role: _STRENGTH.get(role, -1), default=settings.default_role or None)


def teams_of(groups: Collection[str], settings: OidcSettings) -> dict[str, str]:
    """Return the teams that groups give, with the role in each; of several roles in one team the strongest counts."""
    found: dict[str, str] = {}
    for group, value in settings.teams.items():
        if group in groups:
            team, _, role = value.partition(":")
            given = role or Role.USER.value
            found[team] = max(found.get(team, given), given, key=lambda one: _STRENGTH.get(one, -1))
    return found


def admit(connection: Connection, person: Person, settings: OidcSettings, *, now: datetime) -> tuple[Account, bool]:
    """Return the account of a person, made if there is none, with what their groups give; and whether it was made.

    Raises:
        NotAdmittedError: no group gives a role, the account is not active, or another account has the name.
        NotFoundError: a role or team that the settings name does not exist.
    """
    role = role_of(person.groups, settings)
    if role is None:
        raise NotAdmittedError(f"{shown(person.username)} is in no group that may log in: ask an administrator")
    found = find_by_identity(connection, person.identity)
    if found is None:
        if find_account(connection, person.username) is not None:
            raise NotAdmittedError(
                f"there is an account {shown(person.username)} already that does not belong to this identity: "
                "ask an administrator"
            )
        create_account(connection, person.username, None, role, identity=person.identity, now=now)
    elif not found.is_active:
        raise NotAdmittedError(f"account {shown(found.username)} may not log in: ask an administrator")
    elif found.role != role:
        change_role(connection, found.username, role)
    username = person.username if found is None else found.username
    _set_teams(connection, username, teams_of(person.groups, settings), settings.teams)
    logged_in(connection, username, now=now)
    return require_account(connection, username), found is None


def _set_teams(connection: Connection, username: str, wanted: Mapping[str, str], mapping: Mapping[str, str]) -> None:
    for team in {value.partition(":")[0] for value in mapping.values()}:
        members = require_team(connection, team).members
        if team in wanted and members.get(username) != wanted[team]:
            set_member(connection, team, username, wanted[team])
        elif team not in wanted and username in members:
            remove_member(connection, team, username)
