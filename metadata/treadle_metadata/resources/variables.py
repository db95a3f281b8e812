"""Variables: texts (often JSON) that DAGs read at run time. Every value is encrypted at rest.

A variable is a team's, or everybody's (team ""). A team's tasks find its own before everybody's of the same key, and
never another team's (cases F18, H7).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import OF_TEAM, checked_name, checked_text
from treadle_metadata.statements import execute, rows, tuples

_INSERT: Final = """
    INSERT INTO variable (team, key, value, description) VALUES (%(team)s, %(key)s, %(value)s, %(description)s)
    ON CONFLICT (team, key) DO NOTHING
"""

# A description that is not given stays as it was.
_SET: Final = """
    INSERT INTO variable (team, key, value, description) VALUES (%(team)s, %(key)s, %(value)s, %(description)s)
    ON CONFLICT (team, key) DO UPDATE
    SET value = excluded.value, description = coalesce(excluded.description, variable.description)
"""


def find_variable(connection: Connection, key: str, *, crypto: Crypto, team: str = "") -> str | None:
    """Return the text of a variable as a task of ``team`` finds it, or None if there is none."""
    sql = "SELECT value FROM variable WHERE key = %(key)s AND team IN ('', %(team)s) ORDER BY team DESC LIMIT 1"
    found = rows(connection, sql, {"key": key, "team": team})
    return crypto.decrypt(found[0]["value"], f"variable {key!r}") if found else None


def require_variable(connection: Connection, key: str, *, crypto: Crypto, team: str | None = None) -> dict[str, Any]:
    """Return ``team``, ``key``, ``value`` (decrypted) and ``description`` of a variable.

    ``team`` None means everybody's where there is one, else that of the first team.

    Raises:
        NotFoundError: there is none with that key.
    """
    sql = f"SELECT * FROM variable WHERE key = %(key)s AND {OF_TEAM} ORDER BY team LIMIT 1"
    found = rows(connection, sql, {"key": key, "team": team})
    if not found:
        raise _no_such_variable(connection, key)
    return dict(found[0]) | {"value": crypto.decrypt(found[0]["value"], f"variable {key!r}")}


def create_variable(
    connection: Connection, key: str, value: str, description: str | None = None, *, crypto: Crypto, team: str = ""
) -> None:
    """Create a variable of ``team``.

    Raises:
        ConflictError: there is one with that key.
        InvalidRequestError: the key or the value cannot be used.
    """
    if execute(connection, _INSERT, _checked(key, value, description, crypto, team)) == 0:
        raise ConflictError(f"variable {shown(key)} exists already", field="key")


def set_variable(
    connection: Connection, key: str, value: str, description: str | None = None, *, crypto: Crypto, team: str = ""
) -> None:
    """Create a variable of ``team`` or change its one with that key.

    Raises:
        InvalidRequestError: the key or the value cannot be used.
    """
    execute(connection, _SET, _checked(key, value, description, crypto, team))


def delete_variable(connection: Connection, key: str, *, team: str = "") -> bool:
    """Delete a variable of ``team`` if it is there; return whether it was."""
    sql = "DELETE FROM variable WHERE key = %(key)s AND team = %(team)s"
    return execute(connection, sql, {"key": key, "team": team}) > 0


def export_variables(connection: Connection, *, crypto: Crypto, team: str = "") -> dict[str, Any]:
    """Return the variables of ``team``, decrypted: ``{key: text}`` or ``{key: {value, description}}``, by key."""
    exported: dict[str, Any] = {}
    for row in rows(connection, "SELECT * FROM variable WHERE team = %(team)s ORDER BY key", {"team": team}):
        text = crypto.decrypt(row["value"], f"variable {row['key']!r}")
        described = row["description"]
        exported[row["key"]] = text if described is None else {"value": text, "description": described}
    return exported


def import_variables(
    connection: Connection, content: Mapping[str, Any], *, crypto: Crypto, team: str = ""
) -> list[str]:
    """Create or change ``team``'s variables from an export; return their keys. What is no text is stored as JSON.

    Raises:
        InvalidRequestError: a key or a value cannot be used.
    """
    for key, one in content.items():
        value, description = one, None
        if isinstance(one, Mapping) and set(one) <= {"value", "description"} and "value" in one:
            value, description = one["value"], one.get("description")
        if description is not None and not isinstance(description, str):
            raise InvalidRequestError(f"the description of variable {shown(key)} is no text")
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        set_variable(connection, key, text, description, crypto=crypto, team=team)
    return list(content)


def _checked(key: str, value: str, description: str | None, crypto: Crypto, team: str) -> dict[str, Any]:
    checked_name("variable key", key, field="key")
    checked_text(f"the value of variable {key!r}", value)
    if description is not None:
        checked_text(f"the description of variable {key!r}", description)
    return {"team": team, "key": key, "value": crypto.encrypt(value), "description": description}


def _no_such_variable(connection: Connection, key: str) -> NotFoundError:
    known = [row[0] for row in tuples(connection, "SELECT key FROM variable ORDER BY key LIMIT 2000")]
    return NotFoundError("variable", key, known)
