"""A ``@task.transaction`` that a template runs for practice, before it forks the children of a file that has some.

Most of such a task's processor time went into doing things for the first time: OpenSSL, the database driver, each
memory page that these write. The database is one of our own making (``rehearsed_database``): no credential is here, and
none is needed. Called by ``zygote``; what goes wrong with a rehearsal is nobody's failure.
"""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from typing import Any, Final

from treadle import DAG, collection, task
from treadle_worker.rehearsal import NAME, run_through
from treadle_worker.rehearsed_database import Row, serve

_SECONDS: Final = 5
"""After this the database ends, and with it the rehearsal."""

_BOOL: Final = 16
_TEXT: Final = 25
_ROW: Final[Row] = ((_BOOL, b"t"), (_TEXT, None))
"""What such a task learns of a database: that the inbox is there, and that it has no other way."""


def rehearse_transaction() -> list[str]:
    """Run it a few times in this process; return what it came to."""
    collection.begin()
    with DAG(NAME) as dag:
        task.transaction(conn_id=NAME, task_id=NAME)(_insert)(1)
    collection.begin()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.join(folder, ".s.PGSQL.5432"))
        listening.listen()
        server = os.fork()
        if server == 0:
            _be_the_server(listening)
        try:
            return run_through(dag, _journal(folder))
        finally:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)


def _be_the_server(listening: socket.socket) -> None:
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_SECONDS)
        serve(listening, NAME, _ROW)
    finally:
        os._exit(0)


def _insert(number: int, transaction: Any) -> int:
    transaction.execute("INSERT INTO rehearsal VALUES (%s)", (number,))
    return number


def _journal(folder: str) -> dict[str, Any]:
    """Return what the server tells of a journal that is new, and of the connection (``protocol.StartAnswer``)."""
    connection = {"conn_id": NAME, "conn_type": "postgres", "host": folder, "login": NAME, "password": NAME}
    return {
        "id": NAME,
        "steps": [],
        "is_new": True,
        "commit": {"schema": NAME, "attempt": [NAME, 1, NAME, NAME]},
        "conn_id": NAME,
        "connection": {**connection, "schema": NAME, "port": None, "extra": None, "description": None},
    }
