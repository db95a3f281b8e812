"""Accounts: who may log in, with which role everywhere. Passwords are kept as Argon2id hashes only.

Called by the web server and the CLI. A change of password or role, and a deactivation, end all sessions of the account
in the same transaction (case F13); what its API tokens may do is read anew on each request.
Verifying takes about 20 ms and 19 MiB on purpose: call it off an event loop.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Final

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import Connection

from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import checked_name
from treadle_metadata.rights.permissions import Permission
from treadle_metadata.rights.roles import checked_role
from treadle_metadata.statements import execute, rows, tuples

SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD: Final = 1024
ACCOUNTS_LOCK: Final = 0x74726561646C6512
"""Key of the advisory lock of whoever takes rights from an account."""
FIRST: Final = "admin"
"""The name of the account that a new installation gets."""


class Role(StrEnum):
    """The built-in roles, each including the one before it. There may be others: ``treadle_metadata.rights.roles``."""

    MEMBER = "Member"
    VIEWER = "Viewer"
    USER = "User"
    OP = "Op"
    ADMIN = "Admin"


@dataclass(frozen=True, slots=True)
class Account:
    """An account, without its password's hash. ``identity``: who it is at the identity provider."""

    username: str
    role: str
    is_active: bool
    identity: str | None = None
    created_at: datetime | None = None
    last_login_at: datetime | None = None


# 19 MiB, two passes: OWASP's first choice for Argon2id with one lane.
_HASHER: Final = PasswordHash([Argon2Hasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)])

# So that a crowd of logins cannot take all memory and processors.
_AT_ONCE: Final = threading.BoundedSemaphore(2)

_SELECT: Final = "SELECT username, role, is_active, identity, created_at, last_login_at FROM account"


def create_account(
    connection: Connection,
    username: str,
    password: str | None,
    role: str,
    *,
    identity: str | None = None,
    now: datetime,
) -> None:
    """Create an account; without a password it logs in through the identity provider only.

    Raises:
        ConflictError: there is one with that name.
        NotFoundError: there is no such role.
        InvalidRequestError: the name or the password cannot be used.
    """
    checked_name("username", username, field="username")
    made = execute(
        connection,
        """
        INSERT INTO account (username, password_hash, role, identity, created_at)
        VALUES (%(username)s, %(hash)s, %(role)s, %(identity)s, %(now)s)
        ON CONFLICT (username) DO NOTHING
        """,
        {
            "username": username,
            "hash": None if password is None else _hash(password),
            "role": checked_role(connection, role),
            "identity": identity,
            "now": now,
        },
    )
    if made == 0:
        raise ConflictError(f"account {shown(username)} exists already", field="username")


def create_first(connection: Connection, *, now: datetime) -> str | None:
    """Create the account ``admin`` if there is none at all; return its random password, which is kept nowhere else."""
    execute(connection, "LOCK TABLE account IN SHARE ROW EXCLUSIVE MODE")
    if tuples(connection, "SELECT FROM account LIMIT 1"):
        return None
    password = secrets.token_urlsafe(12)
    create_account(connection, FIRST, password, Role.ADMIN, now=now)
    return password


def find_account(connection: Connection, username: str) -> Account | None:
    """Return the account, or None if there is none."""
    found = tuples(connection, f"{_SELECT} WHERE username = %(username)s", {"username": username})
    return Account(*found[0]) if found else None


def require_account(connection: Connection, username: str) -> Account:
    """Return the account.

    Raises:
        NotFoundError: there is no such account; the message names the nearest one.
    """
    found = find_account(connection, username)
    if found is None:
        known = [row[0] for row in tuples(connection, "SELECT username FROM account LIMIT 2000")]
        raise NotFoundError("account", username, known)
    return found


def find_by_identity(connection: Connection, identity: str) -> Account | None:
    """Return the account of somebody that the identity provider knows, or None."""
    found = tuples(connection, f"{_SELECT} WHERE identity = %(identity)s", {"identity": identity})
    return Account(*found[0]) if found else None


def list_accounts(connection: Connection) -> list[Account]:
    """Return all accounts by name."""
    return [Account(*row) for row in tuples(connection, f"{_SELECT} ORDER BY username")]


def verify(connection: Connection, username: str, password: str, *, now: datetime | None = None) -> Account | None:
    """Return the account if it is active and ``password`` is its password, else None.

    An unknown name takes as long as a wrong password, so that names cannot be guessed by the clock. A hash of older
    parameters is replaced by one of today's; ``now`` is kept as the time of the last login.
    """
    if "\0" in username or len(password) > LONGEST_PASSWORD:
        return None
    found = rows(connection, "SELECT * FROM account WHERE username = %(username)s", {"username": username})
    stored: str = (found[0]["password_hash"] if found else None) or ""
    with _AT_ONCE:
        right, renewed = _HASHER.verify_and_update(password, stored if stored.startswith("$") else _nobody())
    if not right or not stored.startswith("$") or not found[0]["is_active"]:
        return None
    if now is not None:
        keep = "password_hash = coalesce(%(hash)s, password_hash), last_login_at = %(now)s"
        parameters = {"username": username, "hash": renewed, "now": now}
        execute(connection, f"UPDATE account SET {keep} WHERE username = %(username)s", parameters)
    return Account(*(found[0][name] for name in Account.__slots__))


def logged_in(connection: Connection, username: str, *, now: datetime) -> None:
    """Keep the time of a login that needed no password here."""
    sql = "UPDATE account SET last_login_at = %(now)s WHERE username = %(username)s"
    execute(connection, sql, {"username": username, "now": now})


def change_password(connection: Connection, username: str, password: str, *, field: str = "password") -> None:
    """Give an account another password and end its sessions; ``field`` is the request's name for the password.

    Raises:
        NotFoundError: there is no such account.
        InvalidRequestError: the password is too short or too long.
    """
    _change(connection, username, {"password_hash": _hash(password, field)})


def change_role(connection: Connection, username: str, role: str) -> None:
    """Give an account another role everywhere and end its sessions.

    Raises:
        NotFoundError: there is no such account or no such role.
        ConflictError: nobody could manage accounts any more.
    """
    _change(connection, username, {"role": checked_role(connection, role)})


def set_active(connection: Connection, username: str, is_active: bool) -> None:
    """Allow or forbid an account to log in, and end its sessions; its tokens do nothing as long as it is forbidden.

    Raises:
        NotFoundError: there is no such account.
        ConflictError: nobody could manage accounts any more.
    """
    _change(connection, username, {"is_active": is_active})


def end_sessions(connection: Connection, username: str) -> int:
    """End every session of an account; return how many there were."""
    sql = "DELETE FROM login_session WHERE username = %(username)s"
    return execute(connection, sql, {"username": username})


def delete_account(connection: Connection, username: str) -> None:
    """Delete an account with its sessions, tokens, memberships and grants.

    Raises:
        NotFoundError: there is no such account.
        ConflictError: nobody could manage accounts any more.
    """
    require_account(connection, username)
    with staying_managed(connection):
        execute(connection, "DELETE FROM account WHERE username = %(username)s", {"username": username})


@contextmanager
def staying_managed(connection: Connection) -> Iterator[None]:
    """Take rights from an account or a role within the block; somebody must be left who may manage accounts.

    Others who do so wait until this transaction ends: of two admins who deactivate each other at the same moment, each
    alone would leave one, and only in a row does the second see that nobody would be left.

    Raises:
        ConflictError: nobody could manage accounts any more, and somebody could before.
    """
    execute(connection, "SELECT pg_advisory_xact_lock(%(key)s)", {"key": ACCOUNTS_LOCK})
    was_managed = _is_managed(connection)
    yield
    if was_managed and not _is_managed(connection):
        raise ConflictError(
            "nobody could manage accounts any more: this is the last active account that may; give another one the "
            "role Admin first"
        )


def _is_managed(connection: Connection) -> bool:
    """Tell whether anybody may manage accounts."""
    sql = """
        SELECT FROM account LEFT JOIN role ON role.name = account.role
        WHERE account.is_active AND (account.role = %(admin)s OR %(needed)s = ANY(role.permissions)) LIMIT 1
    """
    needed = {"admin": Role.ADMIN.value, "needed": Permission.MANAGE_ACCOUNTS.value}
    return bool(tuples(connection, sql, needed))


def _change(connection: Connection, username: str, values: dict[str, Any]) -> None:
    require_account(connection, username)
    sql = """
        UPDATE account SET password_hash = coalesce(%(password_hash)s, password_hash),
               role = coalesce(%(role)s, role), is_active = coalesce(%(is_active)s, is_active)
        WHERE username = %(username)s
    """
    given = {"password_hash": None, "role": None, "is_active": None} | values
    with staying_managed(connection):
        execute(connection, sql, given | {"username": username})
    end_sessions(connection, username)


def _hash(password: str, field: str = "password") -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidRequestError(
            f"the password has {len(password)} characters; expected {SHORTEST_PASSWORD} to {LONGEST_PASSWORD}",
            field=field,
        )
    with _AT_ONCE:
        return _HASHER.hash(password)


@cache
def _nobody() -> str:
    return _HASHER.hash("the password of nobody")
