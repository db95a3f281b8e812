"""``@task.transaction``: a function whose database writes are committed exactly once, with the record that they are.

The attempt opens a connection to the task's own database (a PostgreSQL named by ``conn_id``; the metadata database's
credentials are never seen here). The function's writes, its result, its XComs and its asset events commit together
(``treadle.durable.targets`` tells how). An attempt that dies before the commit leaves nothing; one that dies after it
has ended well, or is followed by one that finds what was committed and hands it on.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

from treadle import xcom
from treadle.connections import Connection
from treadle.durable.journal import journal
from treadle.durable.targets import opened
from treadle.errors import NotInTaskError
from treadle.operators.python import PythonOperator
from treadle.runtime.results import push_result

_STEP: Final = "@task.transaction"

# Loaded with the file that has such a task, mapped or not, so that the processes of attempts, forks of one that has
# imported the file, need not load it each: that takes a hundred milliseconds.
with suppress(ImportError):
    importlib.import_module("psycopg")


@contextmanager
def sent_together(database: Any) -> Iterator[None]:
    """Send the statements of the block together over a psycopg connection.

    Where one of them is refused, psycopg may raise that those after it were not run, whichever answer it reads first;
    what is raised here is the refusal itself.
    """
    try:
        with database.pipeline():
            yield
    except Exception as error:
        if type(error).__name__ == "PipelineAborted" and error.__context__ is not None:
            raise error.__context__ from None
        raise


class TransactionDecoratedOperator(PythonOperator):
    """``@task.transaction``: the function gets a psycopg connection as its parameter ``transaction``.

    The operator commits when the function has returned, and rolls back when it raised; the function itself cannot.
    """

    custom_operator_name = "@task.transaction"
    opens_transaction = True

    def __init__(self, *, conn_id: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.conn_id = conn_id

    def call(self, context: Any) -> Any:
        """Call the function within a transaction, unless an attempt before this one has committed it."""
        found = journal(self.conn_id)
        if found is None:
            raise NotInTaskError("@task.transaction")
        ti = context["ti"]
        task = f"{ti.dag_id}.{ti.task_id}[{ti.map_index}] of {ti.run_id}"
        key = found.key_of(_STEP, hashlib.sha256(task.encode()).hexdigest())
        with opened(Connection.get(self.conn_id)) as target, ExitStack() as late:
            way = target.one_commit(found.commit) or target.inbox(key, task, is_new=found.is_new)
            database = target.database
            with database.transaction(), found.held() as steps:
                kept = way.begin()
                if kept is not None:
                    self.log.info("An earlier attempt has committed; what it came to is handed on.")
                    return self._restored(context, kept)
                context["transaction"] = database
                value = super().call(context)
                push_result(ti, self, value)
                # The note and the commit go out together: what the note locks is not held by a process that stalls.
                late.enter_context(sent_together(database))
                way.end(self._kept(context, value), steps)
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
