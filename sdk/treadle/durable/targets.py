"""The PostgreSQL that a ``@task.transaction`` writes to: its connection, and how the task's end commits with its rows.

Two ways. Where the role may call ``treadle_commit`` of this installation's own database (:class:`OneCommit`), the
commit carries the end of the attempt itself. Everywhere else (:class:`Inbox`) it carries a row of ``treadle_inbox``,
by which the next attempt learns that it is done. In a process that runs several attempts the connection stays open
from one to the next, with nothing left of the session before; a crash costs what was not committed, as ever.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

from treadle.connections import Connection
from treadle.errors import ConnectionFormatError, LibraryMissingError
from treadle.runtime import current

INBOX: Final = "treadle_inbox"
_POSTGRES: Final = ("postgres", "postgresql")

# By one at a time: two that make a table at once may fail on each other.
_LOCK: Final = "SELECT pg_advisory_xact_lock(7955925856)"
_MAKE: Final = f"""
    CREATE TABLE IF NOT EXISTS {INBOX} (
        key text PRIMARY KEY, task text NOT NULL, result text, committed_at timestamptz NOT NULL DEFAULT now()
    )
"""

# Another attempt that has claimed the same key is waited for here: then its row is there, or it is not.
_CLAIM: Final = f"INSERT INTO {INBOX} (key, task) VALUES (%s, %s) ON CONFLICT (key) DO NOTHING"
_READ: Final = f"SELECT result FROM {INBOX} WHERE key = %s"
_ADD: Final = f"INSERT INTO {INBOX} (key, task, result) VALUES (%s, %s, %s)"
_KEEP: Final = f"UPDATE {INBOX} SET result = %s WHERE key = %s"

# Whether the inbox is there, and what the role may call, of whichever database this is; the call itself tells if it is
# the right one. Found by name, not by a join: a new session then reads little of the catalog.
_LOOK: Final = f"""
    SELECT to_regclass('{INBOX}') IS NOT NULL, CASE
        WHEN to_regnamespace(quote_ident(%(schema)s::text)) IS NULL THEN NULL
        WHEN NOT has_schema_privilege(%(schema)s::text, 'USAGE') THEN NULL
        WHEN has_function_privilege(to_regproc(quote_ident(%(schema)s::text) || '.treadle_commit')::oid, 'EXECUTE')
        THEN quote_ident(%(schema)s::text) || '.treadle_commit' END
"""

# DISCARD ALL but for the statements that psycopg has prepared: it would not notice that they are gone. What the task
# itself has prepared under a name cannot be told from a new session otherwise, so that is looked for.
_CLEAR: Final = """
    CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES;
    SELECT pg_advisory_unlock_all();
    SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE from_sql)
"""


class Inbox:
    """The end as a row beside the data, under the idempotency key of the task's journal."""

    def __init__(self, database: Any, key: str, task: str, *, is_new: bool) -> None:
        self._database, self._key, self._task, self._is_new = database, key, task, is_new

    def begin(self) -> dict[str, Any] | None:
        """Claim the key; return what an earlier attempt has committed under it, if one has.

        A key that nobody can have used is not looked for. Whoever uses it next finds the row, or is found by it.
        """
        if self._is_new:
            return None
        if self._database.execute(_CLAIM, (self._key, self._task)).rowcount:
            return None
        kept: dict[str, Any] = json.loads(self._database.execute(_READ, (self._key,)).fetchone()[0])
        return kept

    def end(self, kept: Mapping[str, Any], steps: Sequence[Mapping[str, str]]) -> None:
        """Note what the attempt hands on; raises psycopg's error if another has done so since the key was new."""
        result = json.dumps({**kept, "steps": steps})
        if self._is_new:
            self._database.execute(_ADD, (self._key, self._task, result))
        else:
            self._database.execute(_KEEP, (result, self._key))


class OneCommit:
    """The end as that of the attempt itself, in this installation's own database."""

    def __init__(self, database: Any, function: str, attempt: Sequence[Any]) -> None:
        self._database, self._attempt = database, attempt
        self._call = f"SELECT {function}(%s::uuid, %s::bigint, %s::date, %s"

    def is_known(self) -> bool:
        """Tell whether this database is the one that has the attempt; raises psycopg's error if that is over."""
        return bool(self._database.execute(f"{self._call})", self._attempt).fetchone()[0])

    def begin(self) -> None:
        """Nothing: no attempt before this one has committed, or it would have been the last."""

    def end(self, kept: Mapping[str, Any], steps: Sequence[Mapping[str, str]]) -> None:
        """Note what the attempt came to; raises psycopg's error if it is over."""
        given = (*self._attempt, json.dumps(kept), json.dumps(steps))
        self._database.execute(f"{self._call}, %s, %s::jsonb)", given)


class Target:
    """An open connection, and what is known of the database behind it."""

    def __init__(self, database: Any) -> None:
        self.database = database
        self._looked = False
        self._function: str | None = None
        self._is_ours = False
        self._has_inbox = False

    def one_commit(self, commit: Mapping[str, Any] | None) -> OneCommit | None:
        """Return the way of one commit, if the role may go it; asked outside of the transaction."""
        if commit is None:
            return None
        self._look(commit["schema"])
        if self._function is None:
            return None
        one = OneCommit(self.database, self._function, commit["attempt"])
        if not self._is_ours:
            self._is_ours = one.is_known()
        return one if self._is_ours else None

    def inbox(self, key: str, task: str, *, is_new: bool) -> Inbox:
        """Return the way by the inbox, its table made if it is not there; asked outside of the transaction."""
        self._look(None)
        if not self._has_inbox:
            with self.database.transaction():
                self.database.execute(_LOCK)
                self.database.execute(_MAKE)
            self._has_inbox = True
        return Inbox(self.database, key, task, is_new=is_new)

    def _look(self, schema: str | None) -> None:
        """Learn what is there, once a session."""
        if not self._looked:
            self._has_inbox, self._function = self.database.execute(_LOOK, {"schema": schema}).fetchone()
            self._looked = True


_kept: dict[tuple[Any, ...], Target] = {}
"""At most one, and only while it is not in use."""


@contextmanager
def opened(named: Connection) -> Iterator[Target]:
    """Open a psycopg connection to a PostgreSQL, or take the one that the attempt before has left.

    Raises:
        ConnectionFormatError: it is of another type.
        LibraryMissingError: psycopg is not installed where the task runs.
    """
    if named.conn_type not in _POSTGRES:
        reason = f"@task.transaction needs a connection of type postgres, this one is of type {named.conn_type}"
        raise ConnectionFormatError(conn_id=named.conn_id, reason=reason)
    try:
        # A library of the task's machine, which tasks without transactions do not need.
        psycopg = importlib.import_module("psycopg")
    except ImportError as error:
        raise LibraryMissingError("psycopg", "transaction") from error
    where = {"host": named.host, "port": named.port, "user": named.login, "password": named.password}
    given = {**where, "dbname": named.schema, **named.extra_dejson}
    given = {name: value for name, value in given.items() if value}
    key = tuple(sorted((name, str(value)) for name, value in given.items()))
    target = _left(psycopg, key) or Target(psycopg.connect(autocommit=True, **given))
    try:
        yield target
    except BaseException:
        target.database.close()
        raise
    if current.others_follow() and _is_being_cleared(psycopg, target.database):
        _kept[key] = target
    else:
        target.database.close()


def _is_being_cleared(psycopg: Any, database: Any) -> bool:
    """Ask for an end to all that is left of the task in its session; the answer is awaited by the next attempt.

    Nobody waits for it, and what the task has locked for its session is free from now on.
    """
    with suppress(psycopg.Error):
        libpq = database.pgconn
        if libpq.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            libpq.send_query(_CLEAR.encode())
            while libpq.flush():
                pass
            return True
    return False


def _left(psycopg: Any, key: tuple[Any, ...]) -> Target | None:
    """Return the connection that the attempt before has left, as if it were new; others are closed."""
    target = _kept.pop(key, None)
    for other in _kept.values():
        other.database.close()
    _kept.clear()
    if target is None:
        return None
    database = target.database
    # Closed otherwise: the server has ended the session meanwhile, or something of the task is left in it.
    with suppress(psycopg.Error):
        # libpq's own call: eight answers of which only the last is of interest would be eight results of a cursor.
        libpq, last = database.pgconn, None
        while (answer := libpq.get_result()) is not None:
            last = answer
        # Two reads, of which neither waits, tell a session that has ended since: its last words, then its end.
        libpq.consume_input()
        libpq.consume_input()
        database.row_factory = psycopg.rows.tuple_row
        database.isolation_level = database.read_only = database.deferrable = None
        database.autocommit = True
        if last is not None and last.status == psycopg.pq.ExecStatus.TUPLES_OK and last.get_value(0, 0) == b"f":
            return target
    database.close()
    return None
