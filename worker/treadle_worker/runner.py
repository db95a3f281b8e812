"""One task child as the host knows it: its socket, its two output pipes, its pid, and the attempt it is running.

The host makes a runner, orders its fork, and hands it an attempt (or, where children are shared, one after another).
Everything a process can do to itself ends here as one call of ``Owner.ended``: it exited, was killed, closed its
socket, or would not stop; a result that it reported before is ``Owner.finished``.
"""

from __future__ import annotations

import os
import signal
import socket
from typing import Any, Final, Protocol

from treadle_worker.attempts import Attempt
from treadle_worker.event_loop import EventLoop, Timer
from treadle_worker.forker import LOST_HOST
from treadle_worker.frames import Message, encode
from treadle_worker.link import Link
from treadle_worker.outcomes import Cause, Exit
from treadle_worker.system import kill_group
from treadle_worker.task_log import LineSplitter, TaskLog

_PIPE_CHUNK: Final = 64 * 1024
_READS_AFTER_EXIT: Final = 32
_SECONDS_TO_EXIT_AFTER_CLOSE: Final = 1.0


class Owner(Protocol):
    """Who hears of a runner: the host."""

    grace_seconds: float

    def finished(self, runner: Runner, attempt: Attempt, message: Message) -> None:
        """The child reported the result of ``attempt``."""

    def asked(self, runner: Runner, attempt: Attempt, message: Message) -> None:
        """The child asks something for ``attempt``."""

    def ended(self, runner: Runner, attempt: Attempt | None, end: Exit) -> None:
        """The process is gone; ``attempt`` is the one whose result it still owed, if any."""


class Runner:
    """A task child and its descriptors."""

    __slots__ = (
        "_is_told",
        "_kill_timer",
        "_link",
        "_loop",
        "_outputs",
        "_owner",
        "_wanted_signal",
        "attempt",
        "idle_since",
        "last",
        "leaving",
        "log",
        "number",
        "pid",
        "runs",
    )

    def __init__(self, loop: EventLoop, owner: Owner, number: int) -> None:
        self._loop = loop
        self._owner = owner
        self.number = number
        self.pid: int | None = None
        self.attempt: Attempt | None = None
        self.log: TaskLog | None = None
        self.runs = 0
        self.leaving = False
        self.last = False
        self.idle_since = 0.0
        self._wanted_signal: signal.Signals | None = None
        self._kill_timer: Timer | None = None
        self._is_told = False

    def open(self) -> list[int]:
        """Make the socket and the pipes; return the child's ends, for the fork order."""
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        out, child_out = os.pipe2(os.O_CLOEXEC)
        err, child_err = os.pipe2(os.O_CLOEXEC)
        self._link = Link(self._loop, mine, self._heard, self._disconnected)
        self._outputs = {}
        for fd, source in ((out, "stdout"), (err, "stderr")):
            os.set_blocking(fd, False)
            self._outputs[fd] = (source, LineSplitter())
            self._loop.watch(fd, self._reader(fd))
        return [theirs.detach(), child_out, child_err]

    def _reader(self, fd: int) -> Any:
        return lambda _: self._read_output(fd)

    def give(self, attempt: Attempt, *, go: bool, last: bool, limits: dict[str, Any]) -> None:
        """Hand over an attempt; without ``go`` the child waits for :meth:`go`."""
        self.attempt = attempt
        self.log = attempt.log
        self.runs += 1
        self.last = last
        attempt.runner = self
        order = {
            "kind": "run",
            "workload": attempt.workload,
            "log": attempt.log.path,
            "limits": limits,
            "go": go,
            "begin_by": attempt.begin_by if go else None,
            "journal": attempt.journal,
            "last": last,
        }
        self._link.send(encode(order))

    def go(self, begin_by: float) -> None:
        """Let the waiting child run its attempt, unless it hears of this only after ``begin_by``."""
        journal = None if self.attempt is None else self.attempt.journal
        self._link.send(encode({"kind": "go", "begin_by": begin_by, "journal": journal}))

    def reply(self, message: Message) -> None:
        """Answer a question of the child."""
        self._link.send(encode(message))

    def forked(self, pid: int) -> None:
        """Note the pid, and send the signal that was wanted before it was known."""
        self.pid = pid
        if self._wanted_signal is not None:
            kill_group(pid, self._wanted_signal)

    def dismiss(self) -> None:
        """Let an idle child end: it sees the end of its socket."""
        self.leaving = True
        self._link.close()
        self.kill_later(self._owner.grace_seconds)

    def stop(self, cause: Cause, reason: str, grace: float) -> None:
        """End the process group: SIGTERM, and SIGKILL after ``grace`` seconds; the first cause is kept."""
        self.leaving = True
        if self.attempt is not None and self.attempt.cause is Cause.NOTHING:
            self.attempt.cause, self.attempt.reason = cause, reason
        if grace > 0:
            if not self._is_told:
                # Once: a second SIGTERM would end a child that handled the first and just reports its end.
                self._is_told = True
                self._signal(signal.SIGTERM)
            self.kill_later(grace)
        else:
            self._signal(signal.SIGKILL)

    def kill_later(self, seconds: float) -> None:
        """Kill the process group in ``seconds``, unless it is gone by then."""
        if self._kill_timer is None:
            self._kill_timer = self._loop.later(seconds, lambda: self._signal(signal.SIGKILL))

    def _signal(self, number: signal.Signals) -> None:
        if self.pid is None:
            self._wanted_signal = number
        else:
            kill_group(self.pid, number)

    def _heard(self, message: Message) -> None:
        attempt = self.attempt
        if attempt is None or message.get("attempt_id") != attempt.id:
            return  # What a child says about an attempt that is not its current one counts for nothing.
        if message["kind"] == "finish":
            for fd in list(self._outputs):
                self._read_output(fd)
            self.attempt = None
            if self.last:
                self.kill_later(self._owner.grace_seconds)
            self._owner.finished(self, attempt, message)
        elif message["kind"] == "request":
            self._owner.asked(self, attempt, message)

    def _disconnected(self, _: str) -> None:
        if self.attempt is not None and self.attempt.cause is Cause.NOTHING:
            self._loop.later(_SECONDS_TO_EXIT_AFTER_CLOSE, self._punish_close)

    def _punish_close(self) -> None:
        if self.attempt is not None:
            self.stop(Cause.DISCONNECTED, _CLOSED, 0)

    def _read_output(self, fd: int) -> bool:
        """Read one chunk; tell whether there may be more."""
        try:
            data = os.read(fd, _PIPE_CHUNK)
        except BlockingIOError:
            return False
        source, splitter = self._outputs[fd]
        if not data:
            self._close_output(fd)
            return False
        if self.log is not None:
            self.log.write_output(source, splitter.feed(data))
        return True

    def _close_output(self, fd: int) -> None:
        source, splitter = self._outputs.pop(fd)
        self._loop.forget(fd)
        os.close(fd)
        if self.log is not None:
            self.log.write_output(source, splitter.flush())

    def exited(self, end: Exit) -> bool:
        """Take leave of the process; tell whether something that it started still holds its output."""
        reads = 0
        while self._link.read() and reads < 4096:
            reads += 1
        held = False
        for fd in list(self._outputs):
            reads = 0
            while fd in self._outputs and self._read_output(fd) and reads < _READS_AFTER_EXIT:
                reads += 1
            if fd in self._outputs:
                held = True
                self._close_output(fd)
        self._link.close()
        if self._kill_timer is not None:
            self._kill_timer.cancel()
        attempt, self.attempt = self.attempt, None
        if attempt is not None and attempt.cause is Cause.NOTHING and end.status == LOST_HOST << 8:
            attempt.cause, attempt.reason = Cause.DISCONNECTED, _CLOSED
        self._owner.ended(self, attempt, end)
        if self.log is not None:
            self.log.close()
        return held


_CLOSED: Final = "the task closed its connection to the runner host, so its result could not be reported"
