"""``run``: the steps of ``treadle standalone``, in order.

It returns after a stop by signal, with every child ended and the database shut down. Killed at any moment, it leaves
nothing behind: its children get a signal from the kernel, and the next start waits for them to end.
"""

from __future__ import annotations

import gc
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from treadle.version import __version__
from treadle_cli.standalone import daemon_logs, daemons, home
from treadle_cli.standalone.errors import AddressInUseError
from treadle_cli.standalone.supervisor import HEARD, STOPS, Child, Supervisor
from treadle_metadata import accounts, migration
from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.embedded_postgres import EmbeddedPostgres
from treadle_metadata.settings import Settings

ADMIN = accounts.FIRST
SECONDS_TO_STOP = 15.0
"""How long a daemon may take to stop, beyond the grace of tasks."""


def run(settings: Settings, host: str, port: int) -> None:
    """Run the whole service until SIGINT, SIGTERM or SIGHUP.

    Raises:
        StandaloneError: the home is in use or unusable, or the address cannot be bound; nothing was started.
        PostgresError: the embedded database cannot be started; nothing is left running.
    """
    settings = replace(settings, home=settings.home.expanduser().absolute(), host=host)
    with home.locked(settings.home), _signals_held():
        port = _free_port(host, port)
        settings = replace(settings, port=port)
        home.make_folders(settings)
        settings, server = home.with_secrets(settings)
        daemon_logs.to_terminal("standalone", sys.stderr, logging.WARNING)
        daemons.adopt_orphans()
        daemons.hide_memory()
        # What is there now is shared with the children as long as no collection writes to it.
        gc.collect()
        gc.freeze()
        gate = daemons.Gate()
        supervisor = Supervisor(_child(one, settings, gate) for one in daemons.DAEMONS)
        try:
            # The daemons import their modules while the database starts.
            supervisor.start_due()
            password = _start_database(settings, server, supervisor)
            gate.open()
            if _wait_until_listening(supervisor, host, port):
                _greet(settings, password)
                supervisor.run()
                print("Stopping.", flush=True)
        finally:
            supervisor.stop()
            if server is not None:
                # It has ended already; this clears what it leaves outside of the home.
                server.stop()


def _child(daemon: daemons.Daemon, settings: Settings, gate: daemons.Gate) -> Child:
    """Return the child that ``daemon`` is: one that ends tasks may take their grace for it."""
    grace_seconds = SECONDS_TO_STOP + settings.terminate_grace_seconds
    return Child(daemon.name, partial(daemons.start, daemon, settings, gate), grace_seconds=grace_seconds)


def _start_database(settings: Settings, server: EmbeddedPostgres | None, supervisor: Supervisor) -> str | None:
    """Start the embedded server, if it is ours to start, and prepare the database; return a new admin's password."""
    if server is not None:
        server.start()
        supervisor.add(Child("postgres", server.restart, signal.SIGINT, grace_seconds=60.0, pid=server.pid))
    return _prepare_database(settings)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Keep the signals that the supervisor waits for from interrupting us anywhere else."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _free_port(host: str, port: int) -> int:
    """Return ``port`` if it can be bound, any free one if it is 0."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise AddressInUseError(host, port, (why or str(error)).lower()) from error


def _prepare_database(settings: Settings) -> str | None:
    """Migrate, and make the first account if there is none; return its password."""
    now = SystemClock().now()
    migration.migrate(settings.database_url, now, default_pool_slots=settings.default_pool_slots)
    database = Database(settings.database_url, pool_size=1)
    try:
        with database.begin() as connection:
            return accounts.create_first(connection, now=now)
    finally:
        database.close()


def _wait_until_listening(supervisor: Supervisor, host: str, port: int) -> bool:
    """Wait until the web server takes connections; return False if a signal asks to stop before."""
    target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    while True:
        try:
            socket.create_connection((target, port), timeout=1).close()
        except OSError:
            if supervisor.wait(0.01) in STOPS:
                return False
            supervisor.start_due()
        else:
            return True


def _greet(settings: Settings, password: str | None) -> None:
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    print(f"Treadle {__version__}: http://{shown}:{settings.port} (web pages; the REST API is at /api/v2)")
    print(f"DAGs folder: {settings.path('dags_folder')}")
    print(f"Logs: {settings.path('logs_folder')} (tasks), {settings.home / 'daemons'} (daemons)")
    if password is not None:
        print(f"Login: {ADMIN} / {password} (made now and shown once)")
    else:
        print(f"Login: {ADMIN} (a new password: treadle users reset-password {ADMIN})")
    print("Ctrl-C stops it.", flush=True)
