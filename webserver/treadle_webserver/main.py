"""Runs the web server in this process until SIGTERM or SIGINT. Called by ``treadle webserver`` and ``standalone``.

It holds a lease in ``process`` as every daemon does; a kill lets the lease run out, and nothing else is lost.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from fastapi import FastAPI

from treadle_executors.timetables import evaluating
from treadle_metadata import processes
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import MetadataError
from treadle_metadata.settings import Settings
from treadle_webserver.app import create_app
from treadle_webserver.routes import APPS

KIND: Final = "webserver"
_GRACE_SECONDS: Final = 5
_KEEP_ALIVE_SECONDS: Final = 30
_BACKLOG: Final = 2048
_LOG = logging.getLogger(__name__)


class CannotListenError(MetadataError):
    """The address of the web server cannot be bound."""

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"cannot listen on {host} port {port}: {why}; choose another with --host or --port")


def run(settings: Settings, clock: Clock | None = None, apps: Collection[str] = tuple(APPS)) -> None:
    """Serve ``apps`` on ``settings.host`` and ``settings.port`` until told to stop; open requests get 5 s to end.

    Raises:
        CannotListenError: the address is in use, or not ours.
        SettingsError: ``jwt_secret`` is too short.
        CryptoError: ``fernet_key`` is missing or malformed.
    """
    clock = clock or SystemClock()
    database = Database(
        settings.database_url,
        pool_size=10,
        application_name="treadle webserver",
        idle_seconds=settings.lease_seconds,
        in_threads=True,
    )
    try:
        app = create_app(settings, database, clock=clock, apps=apps)
        # Bound here, since uvicorn would end the process when it cannot.
        with (
            _listening(settings) as listener,
            processes.Lease(database, KIND, clock, settings),
            evaluating(settings),
            _signals_end_quietly(),
        ):
            config = uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="on",
                ws="none",
                timeout_graceful_shutdown=_GRACE_SECONDS,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            )
            # What is there now stays for good: else the collector walks through all of it while answers are made.
            gc.collect()
            gc.freeze()
            _LOG.info("listening on %s port %d", settings.host, listener.getsockname()[1])
            _Server(config).run(sockets=[listener])
    finally:
        database.close()


class _Server(uvicorn.Server):
    """Ends the streams of events first, which would else stay open for all of the grace period."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving."""
        app = self.config.app
        assert isinstance(app, FastAPI)
        app.state.live.close()
        await super().shutdown(sockets)


def _listening(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise CannotListenError(settings.host, settings.port, why) from error
    # Inherited by each connection. asyncio sets it only on sockets that name their protocol, which these do not;
    # without it an answer's body waits 40 ms for the acknowledgement of its head.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


@contextmanager
def _signals_end_quietly() -> Iterator[None]:
    """Let a signal that uvicorn has obeyed do nothing more: it raises it again, which would end us before our lease."""
    names = (signal.SIGTERM, signal.SIGINT)
    before = {name: signal.signal(name, lambda *_: None) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
