"""Teams: who belongs to them, and the folders whose DAGs are theirs.

A DAG belongs to the team that owns the innermost folder of its file, never to one that it names itself: whoever may
put a file into the folder decides, which is what a review guards. Called by the routes and commands that manage
accounts, and by the catalog when it stores DAGs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.assets.watchers import part_by_team
from treadle_metadata.connection import POOLS, notify
from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import checked_name, checked_text
from treadle_metadata.rights.roles import checked_role
from treadle_metadata.statements import execute, rows, tuples

TEAM_OF_FILE: Final[LiteralString] = """
    (SELECT team_folder.team FROM team_folder WHERE starts_with({file}, team_folder.folder || '/')
     ORDER BY length(team_folder.folder) DESC LIMIT 1)
"""
"""The team of a file, in SQL; ``{file}`` stands for its path within the dags folder."""


@dataclass(frozen=True, slots=True)
class Team:
    """A team, with its folders and its members' roles."""

    name: str
    description: str
    folders: tuple[str, ...]
    members: Mapping[str, str]


_SELECT: Final[LiteralString] = """
    SELECT team.name, team.description,
           ARRAY(SELECT folder FROM team_folder WHERE team_folder.team = team.name ORDER BY folder) AS folders,
           (SELECT jsonb_object_agg(username, role) FROM team_member WHERE team_member.team = team.name) AS members
    FROM team
"""


def list_teams(connection: Connection) -> list[Team]:
    """Return all teams by name."""
    return [_team(row) for row in rows(connection, f"{_SELECT} ORDER BY team.name")]


def require_team(connection: Connection, name: str) -> Team:
    """Return the team.

    Raises:
        NotFoundError: there is none.
    """
    found = rows(connection, f"{_SELECT} WHERE team.name = %(name)s", {"name": name})
    if not found:
        raise NotFoundError("team", name, [row[0] for row in tuples(connection, "SELECT name FROM team")])
    return _team(found[0])


def create_team(
    connection: Connection, name: str, folders: Collection[str] = (), description: str = "", *, now: datetime
) -> None:
    """Create a team that owns ``folders``, which are relative to the dags folder.

    Raises:
        ConflictError: there is one of that name, or a folder has an owner.
        InvalidRequestError: the name or a folder cannot be used.
    """
    checked_name("team name", name)
    made = execute(
        connection,
        """
        INSERT INTO team (name, description, created_at) VALUES (%(name)s, %(description)s, %(now)s)
        ON CONFLICT (name) DO NOTHING
        """,
        {"name": name, "description": checked_text("the description of a team", description), "now": now},
    )
    if made == 0:
        raise ConflictError(f"team {shown(name)} exists already", field="name")
    set_folders(connection, name, folders, now=now)


def describe_team(connection: Connection, name: str, description: str) -> None:
    """Change the description of a team that is there."""
    text = checked_text("the description of a team", description)
    execute(connection, "UPDATE team SET description = %(text)s WHERE name = %(name)s", {"name": name, "text": text})


def set_folders(connection: Connection, name: str, folders: Collection[str], *, now: datetime) -> None:
    """Let a team own exactly these folders; the DAGs in them are its from now on, the others no more.

    What the DAGs have watched is polled for their new team, with its connections.

    Raises:
        NotFoundError: there is no such team.
        ConflictError: a folder belongs to another team.
        InvalidRequestError: a folder cannot be used.
    """
    require_team(connection, name)
    wanted = sorted({checked_folder(one) for one in folders})
    taken = "SELECT folder, team FROM team_folder WHERE folder = ANY(%(folders)s) AND team <> %(name)s"
    for folder, owner in tuples(connection, taken, {"folders": wanted, "name": name}):
        raise ConflictError(
            f"folder {shown(folder)} belongs to team {shown(owner)}: take it away there first", field="folders"
        )
    execute(connection, "DELETE FROM team_folder WHERE team = %(name)s", {"name": name})
    execute(
        connection,
        "INSERT INTO team_folder (folder, team) SELECT folder, %(name)s FROM unnest(%(folders)s::text[]) AS folder",
        {"folders": wanted, "name": name},
    )
    _give_dags(connection, now)


def set_member(connection: Connection, name: str, username: str, role: str) -> str | None:
    """Let an account have ``role`` in a team; return which one it had.

    Raises:
        NotFoundError: there is no such team, account or role.
    """
    before = require_team(connection, name).members.get(username)
    if not tuples(connection, "SELECT FROM account WHERE username = %(username)s", {"username": username}):
        raise NotFoundError("account", username, [row[0] for row in tuples(connection, "SELECT username FROM account")])
    execute(
        connection,
        """
        INSERT INTO team_member (username, team, role) VALUES (%(username)s, %(team)s, %(role)s)
        ON CONFLICT (username, team) DO UPDATE SET role = excluded.role
        """,
        {"username": username, "team": name, "role": checked_role(connection, role)},
    )
    return before


def remove_member(connection: Connection, name: str, username: str) -> str:
    """Take an account out of a team; return the role that it had.

    Raises:
        NotFoundError: there is no such team, or the account is no member.
    """
    members = require_team(connection, name).members
    if username not in members:
        raise NotFoundError(f"member of team {name!r}", username, members)
    sql = "DELETE FROM team_member WHERE team = %(team)s AND username = %(username)s"
    execute(connection, sql, {"team": name, "username": username})
    return members[username]


_OWNED: Final[LiteralString] = """
    SELECT 'pool', name FROM slot_pool WHERE team = %(team)s
    UNION ALL SELECT 'variable', key FROM variable WHERE team = %(team)s
    UNION ALL SELECT 'connection', conn_id FROM connection WHERE team = %(team)s LIMIT 1
"""


def delete_team(connection: Connection, name: str, *, now: datetime) -> Team:
    """Delete a team with its memberships and grants, and return it; its DAGs belong to nobody then.

    Raises:
        NotFoundError: there is none.
        ConflictError: it still has a pool, a variable or a connection.
    """
    found = require_team(connection, name)
    for kind, owned in tuples(connection, _OWNED, {"team": name}):
        raise ConflictError(f"team {shown(name)} still has {kind} {shown(owned)}: delete what is its own first")
    execute(connection, "DELETE FROM team WHERE name = %(name)s", {"name": name})
    _give_dags(connection, now)
    return found


def checked_folder(folder: str) -> str:
    """Return a folder's path within the dags folder, without slashes around it.

    Raises:
        InvalidRequestError: it is empty, or leads out of the dags folder.
    """
    plain = folder.strip().strip("/")
    if not plain or not plain.isprintable() or any(part in {"", ".", ".."} for part in plain.split("/")):
        raise InvalidRequestError(
            f"folder {shown(folder)} cannot be used: expected a path within the dags folder", field="folders"
        )
    return plain


def _give_dags(connection: Connection, now: datetime) -> None:
    team = TEAM_OF_FILE.replace("{file}", "dag.file")
    execute(connection, f"UPDATE dag SET team = {team} WHERE team IS DISTINCT FROM {team}")
    part_by_team(connection, now=now)
    # Files that were refused for a pool of another team may be fine now.
    notify(connection, POOLS)


def _team(row: Mapping[str, Any]) -> Team:
    return Team(row["name"], row["description"], tuple(row["folders"]), dict(row["members"] or {}))
