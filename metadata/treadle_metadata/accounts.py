"""Accounts: who may log in, with which role. Passwords are kept as Argon2id hashes only.

Called by the web server and the CLI. A change of password or role, a logout and a deactivation raise
``token_version``, which every login token names, so all tokens handed out before are dead at once (case F13).
Verifying takes about 20 ms and 19 MiB on purpose: call it off an event loop.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Final

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import Connection

from treadle_metadata.errors import ConflictError, InvalidRequestError, NotFoundError, shown
from treadle_metadata.resources.names import checked_name
from treadle_metadata.statements import execute, rows, tuples

SHORTEST_PASSWORD: Final = 8
LONGEST_PASSWORD: Final = 1024


class Role(StrEnum):
    """What an account may do, each role including the one before it."""

    VIEWER = "Viewer"
    USER = "User"
    OP = "Op"
    ADMIN = "Admin"


@dataclass(frozen=True, slots=True)
class Account:
    """An account, without its password's hash."""

    username: str
    role: Role
    is_active: bool
    token_version: int


# 19 MiB, two passes: OWASP's first choice for Argon2id with one lane.
_HASHER: Final = PasswordHash([Argon2Hasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)])

# So that a crowd of logins cannot take all memory and processors.
_AT_ONCE: Final = threading.BoundedSemaphore(2)


def create_account(connection: Connection, username: str, password: str, role: Role | str, *, now: datetime) -> None:
    """Create an account.

    Raises:
        ConflictError: there is one with that name.
        InvalidRequestError: the name, the password or the role cannot be used.
    """
    checked_name("username", username)
    made = execute(
        connection,
        """
        INSERT INTO account (username, password_hash, role, created_at)
        VALUES (%(username)s, %(hash)s, %(role)s, %(now)s)
        ON CONFLICT (username) DO NOTHING
        """,
        {"username": username, "hash": _hash(password), "role": checked_role(role).value, "now": now},
    )
    if made == 0:
        raise ConflictError(f"account {shown(username)} exists already")


def find_account(connection: Connection, username: str) -> Account | None:
    """Return the account, or None if there is none."""
    sql = "SELECT username, role, is_active, token_version FROM account WHERE username = %(username)s"
    found = tuples(connection, sql, {"username": username})
    return _account(*found[0]) if found else None


def list_accounts(connection: Connection) -> list[Account]:
    """Return all accounts by name."""
    sql = "SELECT username, role, is_active, token_version FROM account ORDER BY username"
    return [_account(*row) for row in tuples(connection, sql)]


def verify(connection: Connection, username: str, password: str) -> Account | None:
    """Return the account if it is active and ``password`` is its password, else None.

    An unknown name takes as long as a wrong password, so that names cannot be guessed by the clock.
    """
    if "\0" in username or len(password) > LONGEST_PASSWORD:
        return None
    found = rows(connection, "SELECT * FROM account WHERE username = %(username)s", {"username": username})
    stored = found[0]["password_hash"] if found else _nobody()
    with _AT_ONCE:
        right = _HASHER.verify(password, stored)
    if not right or not found or not found[0]["is_active"]:
        return None
    return _account(*(found[0][name] for name in ("username", "role", "is_active", "token_version")))


def change_password(connection: Connection, username: str, password: str) -> None:
    """Give an account another password and end its logins.

    Raises:
        NotFoundError: there is no such account.
        InvalidRequestError: the password is too short or too long.
    """
    sql = """
        UPDATE account SET password_hash = %(hash)s, token_version = token_version + 1 WHERE username = %(username)s
    """
    _require(connection, username, execute(connection, sql, {"username": username, "hash": _hash(password)}))


def change_role(connection: Connection, username: str, role: Role | str) -> None:
    """Give an account another role and end its logins.

    Raises:
        NotFoundError: there is no such account.
        InvalidRequestError: there is no such role.
    """
    sql = "UPDATE account SET role = %(role)s, token_version = token_version + 1 WHERE username = %(username)s"
    parameters = {"username": username, "role": checked_role(role).value}
    _require(connection, username, execute(connection, sql, parameters))


def set_active(connection: Connection, username: str, is_active: bool) -> None:
    """Allow or forbid an account to log in, and end its logins.

    Raises:
        NotFoundError: there is no such account.
    """
    sql = """
        UPDATE account SET is_active = %(is_active)s, token_version = token_version + 1 WHERE username = %(username)s
    """
    _require(connection, username, execute(connection, sql, {"username": username, "is_active": is_active}))


def end_logins(connection: Connection, username: str) -> None:
    """Make every login token of an account void.

    Raises:
        NotFoundError: there is no such account.
    """
    sql = "UPDATE account SET token_version = token_version + 1 WHERE username = %(username)s"
    _require(connection, username, execute(connection, sql, {"username": username}))


def delete_account(connection: Connection, username: str) -> None:
    """Delete an account.

    Raises:
        NotFoundError: there is no such account.
    """
    sql = "DELETE FROM account WHERE username = %(username)s"
    _require(connection, username, execute(connection, sql, {"username": username}))


def checked_role(role: Role | str) -> Role:
    """Return ``role`` as a Role, letter case aside.

    Raises:
        InvalidRequestError: there is no such role.
    """
    for one in Role:
        if one.value.lower() == str(role).lower():
            return one
    raise InvalidRequestError(f"role {shown(role)} is not known; expected one of {', '.join(Role)}")


def _account(username: str, role: str, is_active: bool, token_version: int) -> Account:
    return Account(username, Role(role), is_active, token_version)


def _hash(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidRequestError(
            f"the password has {len(password)} characters; expected {SHORTEST_PASSWORD} to {LONGEST_PASSWORD}"
        )
    with _AT_ONCE:
        return _HASHER.hash(password)


@cache
def _nobody() -> str:
    return _HASHER.hash("the password of nobody")


def _require(connection: Connection, username: str, changed: int) -> None:
    if changed == 0:
        known = [row[0] for row in tuples(connection, "SELECT username FROM account")]
        raise NotFoundError("account", username, known)
