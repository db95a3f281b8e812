"""Runs the web server in this process until SIGTERM or SIGINT. Called by ``treadle webserver`` and ``standalone``."""

from __future__ import annotations

import threading
from typing import Final

import uvicorn

from treadle_metadata import processes
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_webserver.app import create_app

KIND: Final = "webserver"
_GRACE_SECONDS: Final = 5
_KEEP_ALIVE_SECONDS: Final = 30


def run(settings: Settings, clock: Clock | None = None) -> None:
    """Serve on ``settings.host`` and ``settings.port`` until told to stop; open requests get 5 s to end.

    Raises:
        SystemExit: the port is in use (code 1, after one line in the log).
    """
    clock = clock or SystemClock()
    database = Database(settings.database_url, pool_size=10, application_name="treadle webserver")
    stopping = threading.Event()
    lease = threading.Thread(target=_hold_lease, args=(database, settings, clock, stopping), daemon=True)
    try:
        server = uvicorn.Server(configuration(settings, database, clock))
        lease.start()
        server.run()
        if not server.started:
            raise SystemExit(1)
    finally:
        stopping.set()
        if lease.ident is not None:
            lease.join(_GRACE_SECONDS)
        database.close()


def configuration(settings: Settings, database: Database, clock: Clock) -> uvicorn.Config:
    """Return how uvicorn is to serve: one process, no access log, no server header."""
    return uvicorn.Config(
        create_app(settings, database, clock=clock),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )


def _hold_lease(database: Database, settings: Settings, clock: Clock, stopping: threading.Event) -> None:
    process_id = database.run(
        lambda connection: processes.register(connection, KIND, clock.now(), settings.lease_seconds)
    )
    while not stopping.wait(settings.lease_renewal_seconds):
        database.run(
            lambda connection: processes.heartbeat(connection, process_id, clock.now(), settings.lease_seconds)
        )
    database.run(lambda connection: processes.stop(connection, process_id, clock.now()))
