"""What proves who asks: sessions of people, and API tokens of programs. Only the hashes of their secrets are stored.

Made by the login routes and by ``treadle tokens``; looked up before each handler, in one statement, together with what
the account may do. A session or token that is ended here is dead at the next request of every web server (case F13).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString
from uuid import UUID, uuid4

from sqlalchemy import Connection

from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import checked_name
from treadle_metadata.rights.held import COLUMNS, Rights, of_row
from treadle_metadata.rights.permissions import checked_permissions
from treadle_metadata.statements import execute, rows, tuples

SESSION_PREFIX: Final = "treadle_session_"
TOKEN_PREFIX: Final = "treadle_token_"
LONGEST_LIFE: Final = timedelta(days=366)
USUAL_LIFE: Final = timedelta(days=90)
_LONGEST_SECRET: Final = 200
_USED_EVERY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Proof:
    """An account whose session or token was found, and what it may do through it."""

    username: str
    role: str
    rights: Rights
    id: UUID
    in_browser: bool
    is_token: bool


def open_session(
    connection: Connection,
    username: str,
    *,
    lifetime: timedelta,
    in_browser: bool = False,
    address: str = "",
    user_agent: str = "",
    now: datetime,
) -> str:
    """Open a session and return its secret, which is shown to its holder and kept nowhere. Forgets what is over."""
    secret = SESSION_PREFIX + secrets.token_urlsafe(32)
    execute(
        connection,
        """
        WITH over AS (DELETE FROM login_session WHERE expires_at <= %(now)s)
        INSERT INTO login_session (id, secret_hash, username, in_browser, address, user_agent, created_at, expires_at)
        VALUES (%(id)s, %(hash)s, %(username)s, %(in_browser)s, %(address)s, %(agent)s, %(now)s, %(until)s)
        """,
        {
            "id": uuid4(),
            "hash": hash_of(secret),
            "username": username,
            "in_browser": in_browser,
            "address": address[:100],
            "agent": "".join(one for one in user_agent[:200] if one.isprintable()),
            "now": now,
            "until": now + lifetime,
        },
    )
    return secret


def find_proof(connection: Connection, secret: str, *, now: datetime) -> Proof | None:
    """Return whose session or token this is, None if nobody's, or if it is over or its account is not active."""
    if len(secret) > _LONGEST_SECRET or not secret.isascii():
        return None
    is_token = secret.startswith(TOKEN_PREFIX)
    found = rows(connection, _BY_TOKEN if is_token else _BY_SESSION, {"hash": hash_of(secret), "now": now})
    if not found or not found[0]["is_active"]:
        return None
    row = found[0]
    if is_token and (row["last_used_at"] is None or row["last_used_at"] <= now - _USED_EVERY):
        sql = "UPDATE api_token SET last_used_at = %(now)s WHERE id = %(id)s"
        execute(connection, sql, {"id": row["id"], "now": now})
    rights = of_row(row, row["scopes"] if is_token else None)
    return Proof(row["username"], row["role"], rights, row["id"], bool(row["in_browser"]), is_token)


_BY_SESSION: Final[LiteralString] = f"""
    SELECT held.id, held.in_browser, NULL AS scopes, NULL AS last_used_at, {COLUMNS}
    FROM login_session AS held JOIN account ON account.username = held.username
    WHERE held.secret_hash = %(hash)s AND held.expires_at > %(now)s
"""
_BY_TOKEN: Final[LiteralString] = f"""
    SELECT held.id, false AS in_browser, held.scopes, held.last_used_at, {COLUMNS}
    FROM api_token AS held JOIN account ON account.username = held.username
    WHERE held.secret_hash = %(hash)s AND held.expires_at > %(now)s
"""


def list_sessions(connection: Connection, username: str | None, *, now: datetime) -> Sequence[Mapping[str, Any]]:
    """Return the sessions that are open, of one account or all, the newest first, without their secrets."""
    sql = """
        SELECT id, username, in_browser, address, user_agent, created_at, expires_at FROM login_session
        WHERE (%(username)s::text IS NULL OR username = %(username)s) AND expires_at > %(now)s
        ORDER BY created_at DESC, id LIMIT 1000
    """
    return rows(connection, sql, {"username": username, "now": now})


def end_session(connection: Connection, session_id: UUID, username: str | None = None) -> str:
    """End one session, of ``username`` where that is given; return whose it was.

    Raises:
        NotFoundError: there is none.
    """
    sql = """
        DELETE FROM login_session
        WHERE id = %(id)s AND (%(username)s::text IS NULL OR username = %(username)s) RETURNING username
    """
    found = tuples(connection, sql, {"id": session_id, "username": username})
    if not found:
        raise NotFoundError("session", session_id)
    return str(found[0][0])


def create_token(
    connection: Connection,
    username: str,
    name: str,
    scopes: Iterable[str] | None = None,
    *,
    lifetime: timedelta = USUAL_LIFE,
    now: datetime,
) -> tuple[UUID, str]:
    """Make an API token of an account; return its id and its secret, which cannot be had again.

    ``scopes``: what it may be used for at most (permissions, or ``read``); None: all that the account may do.

    Raises:
        ConflictError: the account has one of that name.
        InvalidRequestError: the name, the scopes or the lifetime cannot be used.
        NotFoundError: there is no such permission.
    """
    checked_name("token name", name)
    if not timedelta(0) < lifetime <= LONGEST_LIFE:
        raise InvalidRequestError(
            f"a token lives for {LONGEST_LIFE.days} days at most, and more than none", field="days"
        )
    wanted = None if scopes is None else [one.value for one in checked_permissions(scopes)]
    if wanted == []:
        raise InvalidRequestError("a token without any scope could do nothing: name some, or none at all for all")
    secret, token_id = TOKEN_PREFIX + secrets.token_urlsafe(32), uuid4()
    made = execute(
        connection,
        """
        INSERT INTO api_token (id, secret_hash, username, name, scopes, created_at, expires_at)
        VALUES (%(id)s, %(hash)s, %(username)s, %(name)s, %(scopes)s, %(now)s, %(until)s)
        ON CONFLICT (username, name) DO NOTHING
        """,
        {
            "id": token_id,
            "hash": hash_of(secret),
            "username": username,
            "name": name,
            "scopes": wanted,
            "now": now,
            "until": now + lifetime,
        },
    )
    if made == 0:
        raise ConflictError(
            f"account {shown(username)} has a token {shown(name)} already; delete it, or choose a name", field="name"
        )
    return token_id, secret


def list_tokens(connection: Connection, username: str | None) -> Sequence[Mapping[str, Any]]:
    """Return the tokens of one account or all, by account and name, without their secrets."""
    sql = """
        SELECT id, username, name, scopes, created_at, expires_at, last_used_at FROM api_token
        WHERE %(username)s::text IS NULL OR username = %(username)s ORDER BY username, name LIMIT 1000
    """
    return rows(connection, sql, {"username": username})


def delete_token(connection: Connection, token_id: UUID, username: str | None = None) -> Mapping[str, Any]:
    """Delete one token, of ``username`` where that is given; return its ``username`` and ``name``.

    Raises:
        NotFoundError: there is none.
    """
    sql = """
        DELETE FROM api_token
        WHERE id = %(id)s AND (%(username)s::text IS NULL OR username = %(username)s) RETURNING username, name
    """
    found = rows(connection, sql, {"id": token_id, "username": username})
    if not found:
        raise NotFoundError("token", token_id)
    return found[0]


def delete_tokens(connection: Connection, username: str) -> int:
    """Delete every token of an account; return how many there were."""
    return execute(connection, "DELETE FROM api_token WHERE username = %(username)s", {"username": username})


def hash_of(secret: str) -> str:
    """Return what is stored of a secret. Random secrets of 256 bits need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
