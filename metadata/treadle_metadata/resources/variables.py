"""Variables: texts (often JSON) that DAGs read at run time. Every value is encrypted at rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import checked_name, checked_text
from treadle_metadata.statements import execute, rows, tuples

_INSERT: Final = """
    INSERT INTO variable (key, value, description) VALUES (%(key)s, %(value)s, %(description)s)
    ON CONFLICT (key) DO NOTHING
"""

# A description that is not given stays as it was.
_SET: Final = """
    INSERT INTO variable (key, value, description) VALUES (%(key)s, %(value)s, %(description)s)
    ON CONFLICT (key) DO UPDATE
    SET value = excluded.value, description = coalesce(excluded.description, variable.description)
"""


def find_variable(connection: Connection, key: str, *, crypto: Crypto) -> str | None:
    """Return the text of a variable, or None if there is none."""
    found = rows(connection, "SELECT value FROM variable WHERE key = %(key)s", {"key": key})
    return crypto.decrypt(found[0]["value"], f"variable {key!r}") if found else None


def require_variable(connection: Connection, key: str, *, crypto: Crypto) -> dict[str, Any]:
    """Return ``key``, ``value`` (decrypted) and ``description`` of a variable.

    Raises:
        NotFoundError: there is none with that key.
    """
    found = rows(connection, "SELECT * FROM variable WHERE key = %(key)s", {"key": key})
    if not found:
        raise _no_such_variable(connection, key)
    return dict(found[0]) | {"value": crypto.decrypt(found[0]["value"], f"variable {key!r}")}


def create_variable(
    connection: Connection, key: str, value: str, description: str | None = None, *, crypto: Crypto
) -> None:
    """Create a variable.

    Raises:
        ConflictError: there is one with that key.
        InvalidRequestError: the key or the value cannot be used.
    """
    if execute(connection, _INSERT, _checked(key, value, description, crypto)) == 0:
        raise ConflictError(f"variable {shown(key)} exists already")


def set_variable(
    connection: Connection, key: str, value: str, description: str | None = None, *, crypto: Crypto
) -> None:
    """Create a variable or change the one with that key.

    Raises:
        InvalidRequestError: the key or the value cannot be used.
    """
    execute(connection, _SET, _checked(key, value, description, crypto))


def delete_variable(connection: Connection, key: str) -> bool:
    """Delete a variable if it is there; return whether it was."""
    return execute(connection, "DELETE FROM variable WHERE key = %(key)s", {"key": key}) > 0


def export_variables(connection: Connection, *, crypto: Crypto) -> dict[str, Any]:
    """Return all variables, decrypted, as ``{key: text}`` or ``{key: {value, description}}``, sorted by key."""
    exported: dict[str, Any] = {}
    for row in rows(connection, "SELECT * FROM variable ORDER BY key"):
        text = crypto.decrypt(row["value"], f"variable {row['key']!r}")
        described = row["description"]
        exported[row["key"]] = text if described is None else {"value": text, "description": described}
    return exported


def import_variables(connection: Connection, content: Mapping[str, Any], *, crypto: Crypto) -> list[str]:
    """Create or change the variables of an export; return their keys. A value that is no text is stored as JSON.

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
        set_variable(connection, key, text, description, crypto=crypto)
    return list(content)


def _checked(key: str, value: str, description: str | None, crypto: Crypto) -> dict[str, Any]:
    checked_name("variable key", key)
    checked_text(f"the value of variable {key!r}", value)
    if description is not None:
        checked_text(f"the description of variable {key!r}", description)
    return {"key": key, "value": crypto.encrypt(value), "description": description}


def _no_such_variable(connection: Connection, key: str) -> NotFoundError:
    known = [row[0] for row in tuples(connection, "SELECT key FROM variable ORDER BY key LIMIT 2000")]
    return NotFoundError("variable", key, known)
