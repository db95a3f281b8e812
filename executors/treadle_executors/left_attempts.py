"""What a worker that was killed has left: which attempts it held, and whether anything of it is still there.

Used by ``treadle worker``: each keeps a folder of its own on the machine, in which stands what it holds. The next
worker of the same database that starts there reads it, and gives those attempts up as soon as it is proven that no
process runs them, instead of leaving them to their leases. Whatever cannot be proven is left to the leases.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final
from uuid import UUID

from treadle_executors.environment import LOGIN
from treadle_executors.held_folder import HeldFolder
from treadle_worker.protocol import Workload
from treadle_worker.system import stat_of

log = logging.getLogger(__name__)

Place = tuple[UUID, int, date]

_HOST: Final = b"treadle_worker.host"
_ZYGOTE: Final = b"treadle_worker.zygote"
_PREFIX: Final = "treadle-held-"
_JOURNAL: Final = "attempts"
_HOSTS: Final = "hosts"
_NAMESPACE: Final = "namespace"
_LARGEST_JOURNAL: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this machine that is no zombie: its parent, and the command that it was started with."""

    pid: int
    parent: int
    command: bytes


@dataclass(frozen=True, slots=True)
class Left:
    """What one worker has left: the pids of its runner hosts, its attempts, and which of them began there."""

    hosts: frozenset[int]
    attempts: tuple[Place, ...]
    began: frozenset[UUID] = frozenset()


class HeldAttempts(HeldFolder):
    """The attempts that this worker holds. ``left`` is what workers that were killed have left here."""

    def __init__(self, database_url: str, parent: Path | None = None) -> None:
        self.left: list[Left] = []
        self._held: dict[str, str] = {}
        self._writing = threading.Lock()
        # Another installation's attempts are none of ours: it is told by where its database is.
        digest = hashlib.sha256(LOGIN.sub("", database_url).encode()).hexdigest()[:12]
        parent = parent or Path(tempfile.gettempdir())
        super().__init__(parent, f"{_PREFIX}{digest}-", self._see, kind=_PREFIX)
        (self.folder / _NAMESPACE).write_text(_namespace())
        self._journal = os.open(self.folder / _JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _see(self, theirs: Path, _ours: Path) -> None:
        found = read_left(theirs)
        if found is not None and found.attempts:
            self.left.append(found)

    def runs_below(self, host_pid: int) -> None:
        """Note a runner host, before it is given anything."""
        with (self.folder / _HOSTS).open("a") as file:
            file.write(f"{host_pid}\n")

    def add(self, workloads: Iterable[Workload]) -> None:
        """Note attempts before they are handed to the host; callbacks are left to their leases."""
        new = {
            one["attempt_id"]: f"+ {one['attempt_id']} {one['task_instance_id']} {one['month']}\n"
            for one in workloads
            if "callback" not in one
        }
        with self._writing:
            self._held |= new
            self._write("".join(new.values()))

    def began(self, attempt_ids: Iterable[str]) -> None:
        """Note that attempts begin here: one that was delivered twice may run at another worker."""
        with self._writing:
            new = {one: f"* {one}\n" for one in attempt_ids if one in self._held}
            for one, line in new.items():
                self._held[one] += line
            self._write("".join(new.values()))

    def over(self, attempt_ids: Iterable[str]) -> None:
        """Forget attempts whose end is recorded."""
        with self._writing:
            gone = [one for one in attempt_ids if self._held.pop(one, None) is not None]
            self._write("".join(f"- {one}\n" for one in gone))

    def _write(self, text: str) -> None:
        try:
            os.write(self._journal, text.encode())
            if os.fstat(self._journal).st_size > _LARGEST_JOURNAL:
                # What a kill leaves between the two is less than there was: the rest is left to the leases.
                os.ftruncate(self._journal, 0)
                os.write(self._journal, "".join(self._held.values()).encode())
        except OSError as error:
            log.warning("it cannot be noted which attempts run here: %s; their leases tell, if this worker dies", error)

    def close(self, *, keep: bool = False) -> None:
        """Let go of the folder, and remove it."""
        os.close(self._journal)
        super().close(keep=keep)


def read_left(folder: Path) -> Left | None:
    """Return what a worker has left in its folder; None if its processes cannot be seen from here, or it is no such."""
    try:
        # The pids of another container, which shares the folder, mean nothing here.
        if (folder / _NAMESPACE).read_text() != _namespace():
            return None
        hosts = frozenset(int(line) for line in (folder / _HOSTS).read_text().split())
        lines = (folder / _JOURNAL).read_text().split("\n")
        held: dict[str, Place] = {}
        began: set[UUID] = set()
        for sign, attempt_id, *rest in (line.split() for line in lines[:-1]):
            if sign == "+":
                held[attempt_id] = (UUID(attempt_id), int(rest[0]), date.fromisoformat(rest[1]))
            elif sign == "*":
                began.add(UUID(attempt_id))
            else:
                held.pop(attempt_id, None)
    except (OSError, ValueError, IndexError):
        return None
    return Left(hosts, tuple(held.values()), frozenset(began & {one[0] for one in held.values()}))


def is_gone(left: Left, seen: Iterable[Process]) -> bool:
    """Tell whether it is certain that nothing of a dead worker is there: neither its hosts, nor what they forked.

    A zygote, and whatever was forked from it, ends with its host, and is below a living host until then. Any that is
    not may be the dead worker's; so may a process that has the number of one of its hosts.
    """
    known = {one.pid: one for one in seen}
    if left.hosts & known.keys():
        return False
    return all(_is_below_a_host(one, known) for one in known.values() if _ZYGOTE in one.command)


def _is_below_a_host(one: Process, known: dict[int, Process]) -> bool:
    for _ in range(len(known)):
        above = known.get(one.parent)
        if above is None:
            return False
        if _HOST in above.command:
            return True
        one = above
    return False


def processes() -> list[Process]:
    """Return all processes that run (one pass over /proc).

    Raises:
        OSError: those of others are hidden from this one (``hidepid``).
    """
    if "hidepid=" in Path("/proc/self/mountinfo").read_text():
        raise PermissionError("processes are hidden here (hidepid)")
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(FileNotFoundError, ProcessLookupError):
            state, parent = stat_of(name)[:2]
            if state not in (b"Z", b"X"):
                found.append(Process(int(name), int(parent), Path(f"/proc/{name}/cmdline").read_bytes()))
    return found


def _namespace() -> str:
    """Return what tells the pids of this system apart from those of others: the boot, and the namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {os.readlink('/proc/self/ns/pid')}"
