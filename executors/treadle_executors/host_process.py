"""The local executor's end of its runner host: the process, its socket, and frames in both directions.

Any thread may send; frames that the socket has no room for are written by the thread that reads. Closing the socket is
the host's order to end everything below it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Final

from treadle_worker.config import HostConfig
from treadle_worker.frames import FrameBuffer, Message, encode
from treadle_worker.system import descendants_of

_CHUNK: Final = 1024 * 1024
_READS_PER_TURN: Final = 8
"""Bounds the batch that one transaction takes."""

_STEPS_OF_PATIENCE: Final = 6


class HostProcess:
    """One runner host."""

    def __init__(self, config: HostConfig, environment: Mapping[str, str]) -> None:
        self._sock, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            command = [sys.executable, "-P", "-m", "treadle_worker.host", str(fd), config.to_text()]
            # A session of its own: Ctrl-C in a terminal is the scheduler's to hear, which then ends the host.
            self._process = subprocess.Popen(
                command, pass_fds=(fd,), env=dict(environment), stdin=subprocess.DEVNULL, start_new_session=True
            )
        self.pid: int = self._process.pid
        self._buffer = FrameBuffer()
        self._outbox = bytearray()
        self._lock = threading.Lock()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def send(self, message: Message) -> None:
        """Send a frame without waiting. To a host that is gone it does nothing; its reader notices."""
        frame = encode(message)
        with self._lock:
            if not self._outbox:
                try:
                    sent = self._sock.send(frame, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    sent = 0
                except OSError:
                    return
                if sent == len(frame):
                    return
                frame = frame[sent:]
            self._outbox += frame
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"x")

    def receive(self, patience: float) -> list[Message] | None:
        """Wait for reports and return all that are there; None when the host is gone, none after ``patience`` seconds.

        Raises:
            BrokenPeer: what came is no frame.
        """
        poll = select.poll()
        poll.register(self._wake_read, select.POLLIN)
        silence, step = 0.0, patience / _STEPS_OF_PATIENCE
        while silence < patience:
            try:
                poll.register(self._sock, select.POLLIN | (select.POLLOUT if self._outbox else 0))
            except ValueError:  # closed: another thread has ended the host meanwhile
                return None
            began = time.monotonic()
            ready = poll.poll(step * 1000)
            # Of a time in which we did not run ourselves (stopped, a machine asleep) a step counts: it may have spoken.
            silence += min(time.monotonic() - began, step)
            for fd, event in ready:
                if fd == self._wake_read:
                    os.read(fd, 4096)
                elif event & select.POLLOUT:
                    self._flush()
                if fd != self._wake_read and event & ~select.POLLOUT:
                    messages = self._read()
                    if messages is None or messages:
                        return messages
        return []

    def _flush(self) -> None:
        with self._lock:
            try:
                sent = self._sock.send(self._outbox, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                self._outbox.clear()
            else:
                del self._outbox[:sent]

    def _read(self) -> list[Message] | None:
        messages: list[Message] = []
        for _ in range(_READS_PER_TURN):
            try:
                data = self._sock.recv(_CHUNK, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                return messages or None
            messages += self._buffer.feed(data)
        return messages

    def hang_up(self) -> None:
        """Close the conversation: the host ends everything below it, and itself."""
        with self._lock, contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """Kill the host and all below it, which may be stopped too, and would go on one day."""
        below = descendants_of(self.pid)
        self._process.kill()
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self, seconds: float) -> int:
        """Let go of the host, wait up to ``seconds`` for its end, then kill it; return its exit code."""
        self.hang_up()
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        with self._lock:
            self._sock.close()
        return code

    def close(self) -> None:
        """Release the descriptors; only after the reading thread is done."""
        os.close(self._wake_read)
        os.close(self._wake_write)
