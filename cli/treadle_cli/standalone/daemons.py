"""The daemons of a standalone installation: what they are, and how one becomes a forked child.

They are forked from a process that has imported what they share, which saves memory and the time of importing it
three times; each imports the rest itself, side by side. A child gets SIGTERM when its parent dies.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import logging
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from treadle_cli.standalone import daemon_logs
from treadle_metadata.settings import Settings

log = logging.getLogger(__name__)

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 4, 15, 36
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon by its name, and the module whose ``run(settings)`` it is."""

    name: str
    module: str


WEBSERVER: Final = Daemon("webserver", "treadle_webserver.main")
DAEMONS: Final[tuple[Daemon, ...]] = (
    # It speaks to the web server, to the last.
    Daemon("triggerer", "treadle_cli.standalone.triggerer"),
    WEBSERVER,
    Daemon("dag-processor", "treadle_scheduler.parsing.main"),
    Daemon("scheduler", "treadle_scheduler.main"),
)
"""In the order in which they are started and ended: no new requests, no new DAGs, then no new tasks."""


class Gate:
    """Where forked daemons wait, their modules imported, until the database is ready for them."""

    def __init__(self) -> None:
        self._wait, self._hold = os.pipe()

    def open(self) -> None:
        """Let all daemons through, those to come as well."""
        os.close(self._hold)

    def pass_through(self) -> None:
        """Wait, in a child, until the gate is open or the parent is dead."""
        with suppress(OSError):
            os.close(self._hold)
        os.read(self._wait, 1)


def start(daemon: Daemon, settings: Settings, gate: Gate) -> int:
    """Fork ``daemon`` and return its pid. The caller has one thread and no open database connection."""
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _be(daemon, settings, gate, parent)
    return pid


def adopt_orphans() -> None:
    """Become the parent of every process below us whose own parent dies, so that none can be left behind."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def hide_memory() -> None:
    """Keep other processes of the same user (task code) from reading our memory and environment."""
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def children_of(pid: int) -> set[int]:
    """Return the pids of the children of ``pid``."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                # After the name, which may hold spaces and parentheses: state, parent, ...
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == pid:
            found.add(int(name))
    return found


def _be(daemon: Daemon, settings: Settings, gate: Gate, parent: int) -> NoReturn:
    code = 1
    try:
        # Ctrl-C goes to the whole foreground group; only the supervisor shall hear it, and end us in order.
        os.setsid()
        _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        # What top and ps show; the kernel keeps 15 characters.
        _libc.prctl(_PR_SET_NAME, daemon.name.encode(), 0, 0, 0)
        _default_signals((signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        daemon_logs.to_file(daemon.name, settings.home / "daemons")
        code = _run(daemon, settings, gate)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not sys.exit: the frames below this fork are the supervisor's, and must not be unwound here.
        os._exit(code)


def _run(daemon: Daemon, settings: Settings, gate: Gate) -> int:
    try:
        # Imports make many objects and no garbage: looking for some would take a tenth of their time.
        gc.disable()
        module = importlib.import_module(daemon.module)
        gc.freeze()
        gc.enable()
        gate.pass_through()
        module.run(settings)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BaseException as error:
        log.critical("%s", type(error).__name__, exc_info=error)
        return 1
    return 0


def _default_signals(signals: Iterable[signal.Signals]) -> None:
    for one in signals:
        signal.signal(one, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
