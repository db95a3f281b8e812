"""``@task.transaction``: a function whose database writes are committed exactly once, with the record that they are.

The attempt opens a connection to the task's own database (a PostgreSQL named by ``conn_id``; the metadata database's
credentials are never seen here) and claims a row of ``treadle_inbox`` there, under the idempotency key of its journal.
The function's writes, its result, its XComs and its asset events commit with that row. An attempt that dies before
the commit leaves nothing; one that dies after it is followed by one that finds the row and hands on what it holds.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from treadle import xcom
from treadle.connections import Connection
from treadle.durable.journal import journal
from treadle.errors import ConnectionFormatError, LibraryMissingError, NotInTaskError
from treadle.operators.python import PythonOperator

INBOX: Final = "treadle_inbox"
_STEP: Final = "@task.transaction"
_POSTGRES: Final = ("postgres", "postgresql")

_EXISTS: Final = f"SELECT to_regclass('{INBOX}') IS NOT NULL"

# By one at a time: two that make a table at once may fail on each other.
_LOCK: Final = "SELECT pg_advisory_xact_lock(7955925856)"
_MAKE: Final = f"""
    CREATE TABLE IF NOT EXISTS {INBOX} (
        key text PRIMARY KEY, task text NOT NULL, result text, committed_at timestamptz NOT NULL DEFAULT now()
    )
"""

# Another attempt that is about to commit under the same key is waited for here: then its row is there, or it is not.
_CLAIM: Final = f"INSERT INTO {INBOX} (key, task) VALUES (%s, %s) ON CONFLICT (key) DO NOTHING"
_READ: Final = f"SELECT result FROM {INBOX} WHERE key = %s"
_KEEP: Final = f"UPDATE {INBOX} SET result = %s WHERE key = %s"


class TransactionDecoratedOperator(PythonOperator):
    """``@task.transaction``: the function gets a psycopg connection as its parameter ``transaction``.

    The operator commits when the function has returned, and rolls back when it raised; the function itself cannot.
    """

    custom_operator_name = "@task.transaction"

    def __init__(self, *, conn_id: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.conn_id = conn_id
        # Loaded with the file, once, so that the processes of attempts, which are forks, need not load it each.
        with suppress(ImportError):
            importlib.import_module("psycopg")

    def call(self, context: Any) -> Any:
        """Call the function within a transaction, unless an attempt before this one has committed it."""
        found = journal()
        if found is None:
            raise NotInTaskError("@task.transaction")
        ti = context["ti"]
        task = f"{ti.dag_id}.{ti.task_id}[{ti.map_index}] of {ti.run_id}"
        key = found.key_of(_STEP, hashlib.sha256(task.encode()).hexdigest())
        with connected(Connection.get(self.conn_id)) as database, database.transaction(), found.held() as steps:
            if database.execute(_CLAIM, (key, task)).rowcount == 0:
                self.log.info("An earlier attempt has committed; what it came to is handed on.")
                return self._restored(context, json.loads(database.execute(_READ, (key,)).fetchone()[0]))
            context["transaction"] = database
            value = super().call(context)
            database.execute(_KEEP, (json.dumps(self._kept(context, value) | {"steps": steps}), key))
        return value

    def _kept(self, context: Mapping[str, Any], value: Any) -> dict[str, Any]:
        """Return what the attempt hands on: its result, its XComs, and the events of its outlets."""
        events = context["outlet_events"].reported() if self.outlets else []
        return {"value": xcom.dumps(value)[0], "xcoms": context["ti"].pushed(), "asset_events": events}

    def _restored(self, context: Mapping[str, Any], kept: Mapping[str, Any]) -> Any:
        for one in kept["xcoms"]:
            context["ti"].xcom_push(one["key"], xcom.loads(one["value"]))
        if self.outlets:
            context["outlet_events"].replay(kept["asset_events"])
        return xcom.loads(kept["value"])


@contextmanager
def connected(named: Connection) -> Iterator[Any]:
    """Open a psycopg connection to a PostgreSQL, its inbox made if it is not there.

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
    with psycopg.connect(autocommit=True, **{name: value for name, value in given.items() if value}) as database:
        if not database.execute(_EXISTS).fetchone()[0]:
            with database.transaction():
                database.execute(_LOCK)
                database.execute(_MAKE)
        yield database
