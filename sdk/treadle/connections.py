"""Connections: where other systems are and how to log in to them, as DAG files and tasks see them.

A connection is looked for in the environment (``TREADLE_CONN_<ID>``, a URI or JSON), then with the supervisor of the
running attempt. Its password and the secret fields of its extra are registered with the masker when it is fetched.
Reads only; a crash leaves nothing behind.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from treadle.errors import ConnectionFormatError, ConnectionNotFoundError
from treadle.runtime import current, masking

ENVIRONMENT_PREFIX: Final = "TREADLE_CONN_"

FIELDS: Final = (
    "conn_id",
    "conn_type",
    "description",
    "host",
    "schema",
    "login",
    "password",
    "port",
    "extra",
)

_EXTRA_IN_URI: Final = "__extra__"


class Connection:
    """One connection. ``extra`` is JSON text; ``extra_dejson`` is what it says."""

    def __init__(
        self,
        conn_id: str,
        conn_type: str | None = None,
        description: str | None = None,
        host: str | None = None,
        schema: str | None = None,
        login: str | None = None,
        password: str | None = None,
        port: int | None = None,
        extra: str | Mapping[str, Any] | None = None,
        *,
        uri: str | None = None,
    ) -> None:
        """Make a connection from its fields, or from ``uri`` (``type://login:password@host:port/schema?key=value``).

        Raises:
            ConnectionFormatError: the URI, the port or the extra cannot be read, or fields and a URI are given.
        """
        given: dict[str, Any] = {
            "conn_type": conn_type,
            "host": host,
            "schema": schema,
            "login": login,
            "password": password,
            "port": port,
            "extra": extra,
        }
        if uri is not None:
            doubled = [name for name, value in given.items() if value is not None]
            if doubled:
                raise ConnectionFormatError(conn_id=conn_id, reason=f"both uri and {', '.join(doubled)} are given")
            given = _fields_of_uri(conn_id, uri)
        self.conn_id = conn_id
        self.conn_type: str = given["conn_type"] or "generic"
        self.description = description
        self.host: str | None = given["host"]
        self.schema: str | None = given["schema"]
        self.login: str | None = given["login"]
        self.password: str | None = given["password"]
        self.port: int | None = _port(conn_id, given["port"])
        self.extra: str | None = _extra_text(given["extra"])

    @classmethod
    def get(cls, conn_id: str) -> Connection:
        """Return connection ``conn_id``.

        Raises:
            ConnectionNotFoundError: neither the environment nor the server has it.
        """
        found = find(conn_id)
        if found is None:
            raise ConnectionNotFoundError(conn_id=conn_id, environment=_in_environment(conn_id), asker=current.asker())
        return found

    @classmethod
    def from_uri(cls, uri: str, conn_id: str) -> Connection:
        """Read a connection from its URI."""
        return cls(conn_id, uri=uri)

    @classmethod
    def from_json(cls, text: str, conn_id: str) -> Connection:
        """Read a connection from a JSON object of its fields; ``uri`` may stand in for them."""
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise ConnectionFormatError(conn_id=conn_id, reason=f"its JSON cannot be read: {error}") from None
        if not isinstance(fields, dict):
            raise ConnectionFormatError(conn_id=conn_id, reason=f"its JSON is a {type(fields).__name__}, not an object")
        return cls.from_dict(fields, conn_id)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any], conn_id: str) -> Connection:
        """Make a connection from a dict of its fields.

        Raises:
            ConnectionFormatError: a field is unknown, or a value cannot be read.
        """
        unknown = sorted(set(fields) - {*FIELDS, "uri"})
        if unknown:
            known = ", ".join(FIELDS[1:])
            raise ConnectionFormatError(conn_id=conn_id, reason=f"unknown field {unknown[0]!r}; the fields are {known}")
        return cls(conn_id, **{name: value for name, value in fields.items() if name != "conn_id"})

    @property
    def extra_dejson(self) -> dict[str, Any]:
        """Return what ``extra`` says as a dict; an empty one if there is no extra or it is not a JSON object."""
        try:
            parsed = json.loads(self.extra or "{}")
        except ValueError:
            return {}
        return parsed if isinstance(parsed, dict) else {}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, the password among them."""
        return {name: getattr(self, name) for name in FIELDS}

    def as_json(self) -> str:
        """Return the fields as JSON text that :meth:`from_json` reads, the password among them."""
        return json.dumps(
            {name: value for name, value in self.to_dict().items() if name != "conn_id" and value is not None}
        )

    def get_uri(self) -> str:
        """Return the URI that :meth:`from_uri` reads, the password in it."""
        login = quote(self.login or "", safe="")
        if self.password is not None:
            login += ":" + quote(self.password, safe="")
        where = f"{login}@" if login else ""
        where += quote(self.host or "", safe="")
        if self.port is not None:
            where += f":{self.port}"
        path = "/" + quote(self.schema, safe="") if self.schema else "/" if self.extra else ""
        uri = f"{self.conn_type.replace('_', '-')}://{where}{path}"
        return f"{uri}?{self._query()}" if self.extra else uri

    def _query(self) -> str:
        extra = self.extra_dejson
        if extra and all(isinstance(value, str) for value in extra.values()) and _EXTRA_IN_URI not in extra:
            return urlencode(extra)
        return urlencode({_EXTRA_IN_URI: self.extra})

    def __repr__(self) -> str:
        # Never the login, the password or the extra: reprs end up in logs.
        return f"<Connection {self.conn_id} ({self.conn_type})>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Connection) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.conn_id)


def find(conn_id: str) -> Connection | None:
    """Return connection ``conn_id``, or None if neither the environment nor the supervisor has it."""
    found = _look_up(conn_id)
    if found is not None:
        masking.add_connection(found.to_dict())
    return found


def _look_up(conn_id: str) -> Connection | None:
    fields = current.given_connection(conn_id)
    text = os.environ.get(_in_environment(conn_id))
    if fields is None and text is not None:
        return read(text, conn_id)
    asked = current.supervisor()
    if fields is None and asked is not None:
        fields = asked.get_connection(conn_id)
    if fields is None:
        return None
    return Connection.from_dict({name: fields.get(name) for name in FIELDS}, conn_id)


def _in_environment(conn_id: str) -> str:
    return ENVIRONMENT_PREFIX + conn_id.upper()


def read(text: str, conn_id: str) -> Connection:
    """Read a connection from text that is JSON (it begins with ``{``) or a URI."""
    stripped = text.strip()
    return Connection.from_json(stripped, conn_id) if stripped.startswith("{") else Connection(conn_id, uri=stripped)


def _fields_of_uri(conn_id: str, uri: str) -> dict[str, Any]:
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError as error:
        raise ConnectionFormatError(conn_id=conn_id, reason=f"its URI cannot be read: {error}") from None
    if not parts.scheme:
        raise ConnectionFormatError(
            conn_id=conn_id, reason="its URI has no type; write type://login:password@host:port/schema"
        )
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    _, at, _ = parts.netloc.rpartition("@")
    host = parts.netloc.rpartition("@")[2] if at else parts.netloc
    host = host.rpartition(":")[0] if port is not None else host.removesuffix(":")
    return {
        "conn_type": _type_of_scheme(parts.scheme),
        "host": unquote(host).strip("[]") or None,
        "schema": unquote(parts.path.removeprefix("/")) or None,
        "login": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password is not None else None,
        "port": port,
        "extra": query.get(_EXTRA_IN_URI, json.dumps(query) if query else None),
    }


def _type_of_scheme(scheme: str) -> str:
    name = scheme.replace("-", "_")
    return "postgres" if name == "postgresql" else name


def _port(conn_id: str, port: Any) -> int | None:
    if port is None or port == "":
        return None
    try:
        number = int(port)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number <= 65535:
        raise ConnectionFormatError(conn_id=conn_id, reason=f"port {port!r} is not a number from 0 to 65535")
    return number


def _extra_text(extra: Any) -> str | None:
    if extra is None or isinstance(extra, str):
        return extra or None
    return json.dumps(extra)
