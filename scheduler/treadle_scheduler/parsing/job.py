"""One file being parsed by one child, as the pool sees it: its channel, its output, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final

from treadle_scheduler.parsing.failures import Cause
from treadle_worker.event_loop import EventLoop, Timer
from treadle_worker.frames import CHUNK, BrokenPeer, FrameBuffer, Message, encode
from treadle_worker.system import kill_group

KEPT_OUTPUT: Final = 8 * 1024
"""Bytes kept of the beginning, and of the end, of what a file prints."""

MOST_QUESTION: Final = 48 * 1024
"""Bytes of a job that a fresh socket takes at once."""


class Job:
    """Open until :meth:`close`. ``answer`` is the child's frame, once it is there."""

    def __init__(self, loop: EventLoop, number: int, file: str, known: Mapping[str, str]) -> None:
        self.number = number
        self.file = file
        self.cause = Cause.NONE
        self.answer: Message | None = None
        self.pid: int | None = None
        self.status: int | None = None
        self.began = loop.now()
        self.limit: Timer | None = None
        self._loop = loop
        self._frames = FrameBuffer()
        self._head, self._tail = bytearray(), bytearray()
        self._dropped = 0
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        self._output, output = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(output, True)
        self._channel.send(_question(file, known))
        self.descriptors = [theirs.detach(), output]
        self._open: dict[int, Callable[[bytes], None]] = {
            self._channel.fileno(): self._take_answer, self._output: self._take_output
        }  # fmt: skip
        loop.watch(self._channel.fileno(), self._answer_ready)
        loop.watch(self._output, self._output_ready)

    def _answer_ready(self, _: int) -> None:
        self._ready(self._channel.fileno())

    def _output_ready(self, _: int) -> None:
        self._ready(self._output)

    def _ready(self, fd: int) -> bool:
        """Read once; return whether there may be more."""
        take = self._open.get(fd)
        if take is None:
            return False
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._forget(fd)
            return False
        take(data)
        return fd in self._open

    def _take_answer(self, data: bytes) -> None:
        try:
            for message in self._frames.feed(data):
                self.answer = self.answer or message
        except BrokenPeer:
            self.kill(Cause.ANSWER)
            self._forget(self._channel.fileno())

    def _take_output(self, data: bytes) -> None:
        room = KEPT_OUTPUT - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        excess = len(self._tail) - KEPT_OUTPUT
        if excess > 0:
            self._dropped += excess
            del self._tail[:excess]

    def _forget(self, fd: int) -> None:
        if self._open.pop(fd, None) is not None:
            self._loop.forget(fd)

    @property
    def output(self) -> str:
        """What the file printed: the beginning and the end."""
        head, tail = (part.decode("utf-8", "backslashreplace") for part in (self._head, self._tail))
        return head + (f"\n... ({self._dropped} bytes left out) ...\n" if self._dropped else "") + tail

    def kill(self, cause: Cause) -> None:
        """End the child and its process group; the first cause counts."""
        if self.cause is Cause.NONE:
            self.cause = cause
        if self.pid is not None and self.status is None:
            kill_group(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Take what the ended child had still sent, and close. What it left behind may hold the other ends."""
        if self.limit is not None:
            self.limit.cancel()
        for fd in list(self._open):
            rounds = 1024
            while rounds and self._ready(fd):
                rounds -= 1
            self._forget(fd)
        self._channel.close()
        with contextlib.suppress(OSError):
            os.close(self._output)


def _question(file: str, known: Mapping[str, Any]) -> bytes:
    question = encode({"kind": "parse", "file": file, "known": dict(known)})
    # Without the known digests the child runs the file twice, that is all.
    return question if len(question) <= MOST_QUESTION else encode({"kind": "parse", "file": file, "known": {}})
