"""Connections to other systems. Password and extra are encrypted at rest; no read endpoint calls this.

Called by the web server and the CLI (to write), by running tasks (to read one), and by ``connections export``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from sqlalchemy import Connection

from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import checked_text
from treadle_metadata.statements import execute, rows, tuples

FIELDS: Final = ("conn_type", "description", "host", "schema", "login", "password", "port", "extra")
_ENCRYPTED: Final = ("password", "extra")
_CONN_ID: Final = re.compile(r"[\w#!()\-.:/\\]{1,250}", re.ASCII)
_CONN_TYPE: Final = re.compile(r"[\w.-]{1,100}", re.ASCII)

_VALUES: Final = """
    (team, conn_id, conn_type, description, host, schema, login, password, port, extra)
    VALUES (%(team)s, %(conn_id)s, %(conn_type)s, %(description)s, %(host)s, %(schema)s, %(login)s, %(password)s,
            %(port)s, %(extra)s)
"""

_INSERT: Final = f"INSERT INTO connection {_VALUES} ON CONFLICT (team, conn_id) DO NOTHING"

_SET: Final = f"""
    INSERT INTO connection {_VALUES}
    ON CONFLICT (team, conn_id) DO UPDATE
    SET conn_type = excluded.conn_type, description = excluded.description, host = excluded.host,
        schema = excluded.schema, login = excluded.login, password = excluded.password, port = excluded.port,
        extra = excluded.extra
"""


def find_connection(connection: Connection, conn_id: str, *, crypto: Crypto, team: str = "") -> dict[str, Any] | None:
    """Return all fields of a connection as a task of ``team`` finds it: its own before everybody's, else None.

    Decrypted: for tasks and exports only.
    """
    sql = """
        SELECT * FROM connection WHERE conn_id = %(conn_id)s AND team IN ('', %(team)s) ORDER BY team DESC LIMIT 1
    """
    found = rows(connection, sql, {"conn_id": conn_id, "team": team})
    return _decrypted(dict(found[0]), crypto) if found else None


def of_row(values: Sequence[Any], crypto: Crypto) -> dict[str, Any]:
    """Return a connection, of a row that others have read: its id and its ``FIELDS``, in this order. Decrypted."""
    return _decrypted(dict(zip(("conn_id", *FIELDS), values, strict=True)), crypto)


def create_connection(
    connection: Connection, conn_id: str, fields: Mapping[str, Any], *, crypto: Crypto, team: str = ""
) -> None:
    """Create a connection of ``team``; ``fields`` are named as in ``FIELDS``, all but ``conn_type`` optional.

    Raises:
        ConflictError: there is one with that id.
        InvalidRequestError: a field is unknown or has an unusable value.
    """
    if execute(connection, _INSERT, _checked(conn_id, fields, crypto) | {"team": team}) == 0:
        raise ConflictError(f"connection {shown(conn_id)} exists already", field="connection_id")


def set_connection(
    connection: Connection, conn_id: str, fields: Mapping[str, Any], *, crypto: Crypto, team: str = ""
) -> None:
    """Create a connection of ``team``, or replace all fields of the one with that id.

    Raises:
        InvalidRequestError: a field is unknown or has an unusable value.
    """
    execute(connection, _SET, _checked(conn_id, fields, crypto) | {"team": team})


def update_connection(
    connection: Connection, conn_id: str, fields: Mapping[str, Any], *, crypto: Crypto, team: str = ""
) -> None:
    """Change the given fields of a connection and leave the others, so that nobody needs to read a password to keep it.

    Raises:
        NotFoundError: there is none with that id.
        InvalidRequestError: a field is unknown or has an unusable value.
    """
    sql = "SELECT * FROM connection WHERE conn_id = %(conn_id)s AND team = %(team)s FOR UPDATE"
    found = rows(connection, sql, {"conn_id": conn_id, "team": team})
    if not found:
        raise _no_such_connection(connection, conn_id)
    whole = _decrypted(dict(found[0]), crypto, with_id=False) | dict(fields)
    set_connection(connection, conn_id, whole, crypto=crypto, team=team)


def delete_connection(connection: Connection, conn_id: str, *, team: str = "") -> None:
    """Delete a connection of ``team``.

    Raises:
        NotFoundError: there is none with that id.
    """
    sql = "DELETE FROM connection WHERE conn_id = %(conn_id)s AND team = %(team)s"
    if execute(connection, sql, {"conn_id": conn_id, "team": team}) == 0:
        raise _no_such_connection(connection, conn_id)


def export_connections(connection: Connection, *, crypto: Crypto, team: str = "") -> dict[str, dict[str, Any]]:
    """Return the connections of ``team`` with their secrets, as ``{conn_id: {field: value}}`` without empty fields."""
    exported = {}
    for row in rows(connection, "SELECT * FROM connection WHERE team = %(team)s ORDER BY conn_id", {"team": team}):
        content = _decrypted(dict(row), crypto, with_id=False)
        exported[row["conn_id"]] = {name: value for name, value in content.items() if value is not None}
    return exported


def import_connections(
    connection: Connection, content: Mapping[str, Any], *, crypto: Crypto, team: str = ""
) -> list[str]:
    """Create or replace ``team``'s connections from an export; return their ids. An entry may also be a URI.

    Raises:
        InvalidRequestError: an entry or a field of one cannot be used.
    """
    for conn_id, one in content.items():
        fields = fields_of_uri(one) if isinstance(one, str) else one
        if not isinstance(fields, Mapping):
            raise InvalidRequestError(f"connection {shown(conn_id)} of the import: expected an object or a URI")
        set_connection(connection, conn_id, fields, crypto=crypto, team=team)
    return list(content)


def fields_of_uri(uri: str) -> dict[str, Any]:
    """Return the fields that a connection URI ``type://login:password@host:port/schema?key=value`` names.

    Raises:
        InvalidRequestError: it has no type, or its port is no number.
    """
    parts = urlsplit(uri)
    if not parts.scheme:
        raise InvalidRequestError("a connection URI names no type: expected type://login:password@host:port/schema")
    try:
        port = parts.port
    except ValueError:
        raise InvalidRequestError("the port of a connection URI is no number from 0 to 65535") from None
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    extra = query.pop("__extra__", None) or (json.dumps(query) if query else None)
    return {
        "conn_type": parts.scheme.replace("-", "_"),
        "host": unquote(parts.hostname) if parts.hostname else None,
        "schema": unquote(parts.path[1:]) or None,
        "login": None if parts.username is None else unquote(parts.username),
        "password": None if parts.password is None else unquote(parts.password),
        "port": port,
        "extra": extra,
    }


def fields_of(conn_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return all fields of a connection that is not stored, as they would be stored, but for the encryption.

    Raises:
        InvalidRequestError: the id or a field cannot be used.
    """
    if not _CONN_ID.fullmatch(conn_id) or ".." in conn_id:
        raise InvalidRequestError(
            f"connection id {shown(conn_id)} cannot be used: expected 1 to 250 letters, digits or _ # ! ( ) - . : / \\ "
            "and no '..'",
            field="connection_id",
        )
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        known = ", ".join(FIELDS)
        raise InvalidRequestError(f"connection {conn_id!r} has no field {shown(unknown[0])}; expected {known}")
    values: dict[str, Any] = {name: fields.get(name) for name in FIELDS} | {"conn_id": conn_id}
    if isinstance(values["extra"], Mapping):
        values["extra"] = json.dumps(values["extra"])
    _check_values(conn_id, values)
    return values


def _checked(conn_id: str, fields: Mapping[str, Any], crypto: Crypto) -> dict[str, Any]:
    values = fields_of(conn_id, fields)
    for name in _ENCRYPTED:
        values[name] = None if values[name] is None else crypto.encrypt(values[name])
    return values


def _check_values(conn_id: str, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if name == "port":
            if value is not None and (not isinstance(value, int) or not 0 <= value <= 65535):
                raise InvalidRequestError(f"connection {conn_id!r}: port is no number from 0 to 65535", field="port")
        elif value is not None:
            if not isinstance(value, str):
                raise InvalidRequestError(
                    f"connection {conn_id!r}: {name} is a {type(value).__name__}, expected a text"
                )
            checked_text(f"connection {conn_id!r}: {name}", value)
    if values["conn_type"] is None or not _CONN_TYPE.fullmatch(values["conn_type"]):
        raise InvalidRequestError(
            f"connection {conn_id!r}: conn_type is missing or no word, expected e.g. 'postgres'", field="conn_type"
        )
    if values["extra"]:
        _check_extra(conn_id, values["extra"])


def _check_extra(conn_id: str, extra: str) -> None:
    # The value is a secret, so the message does not quote it.
    try:
        content = json.loads(extra)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InvalidRequestError(f"connection {conn_id!r}: extra is no JSON object", field="extra")


def _decrypted(row: Mapping[str, Any], crypto: Crypto, *, with_id: bool = True) -> dict[str, Any]:
    names = ("conn_id", *FIELDS) if with_id else FIELDS
    plain = {name: row[name] for name in names}
    for name in _ENCRYPTED:
        if plain[name] is not None:
            plain[name] = crypto.decrypt(plain[name], f"the {name} of connection {row['conn_id']!r}")
    return plain


def _no_such_connection(connection: Connection, conn_id: str) -> NotFoundError:
    known = [row[0] for row in tuples(connection, "SELECT conn_id FROM connection ORDER BY conn_id LIMIT 2000")]
    return NotFoundError("connection", conn_id, known)
