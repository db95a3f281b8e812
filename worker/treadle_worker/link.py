"""A framed connection on the host's event loop: to the executor, or to one task child.

Writes go out at once as far as the kernel takes them; the rest waits its turn, so a peer that does not read never
blocks the host. Reads are bounded per turn. A broken or closed peer is told to ``on_close`` once.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable

from treadle_worker.event_loop import READ, WRITE, EventLoop
from treadle_worker.frames import CHUNK, BrokenPeer, FrameBuffer, Message


class Link:
    """One connection. ``on_message`` gets each frame; ``on_close`` gets why the connection is over."""

    __slots__ = ("_buffer", "_loop", "_outbox", "_sock", "closed", "fd", "on_close", "on_message")

    def __init__(
        self,
        loop: EventLoop,
        sock: socket.socket,
        on_message: Callable[[Message], None],
        on_close: Callable[[str], None],
    ) -> None:
        sock.setblocking(False)
        self._loop = loop
        self._sock = sock
        self._buffer = FrameBuffer()
        self._outbox = bytearray()
        self.fd = sock.fileno()
        self.on_message = on_message
        self.on_close = on_close
        self.closed = False
        loop.watch(self.fd, self._ready)

    def send(self, frame: bytes) -> None:
        """Send an encoded frame, now or when the peer has room. After the connection ended it is dropped."""
        if self.closed:
            return
        if self._outbox:
            self._outbox += frame
            return
        try:
            sent = self._sock.send(frame)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # The peer is gone; reading notices it and says so.
        if sent < len(frame):
            self._outbox += memoryview(frame)[sent:]
            self._loop.change(self.fd, READ | WRITE)

    def _ready(self, events: int) -> None:
        if events & WRITE and self._outbox:
            self._write()
        if events & ~WRITE:
            self.read()

    def _write(self) -> None:
        try:
            sent = self._sock.send(memoryview(self._outbox)[:CHUNK])
        except BlockingIOError:
            return
        except OSError:
            self._outbox.clear()
        else:
            del self._outbox[:sent]
        if not self._outbox:
            self._loop.change(self.fd, READ)

    def read(self) -> bool:
        """Read one chunk and hand on its messages; tell whether there may be more."""
        if self.closed:
            return False
        try:
            data = self._sock.recv(CHUNK)
        except BlockingIOError:
            return False
        except OSError as error:
            self._over(error.strerror or str(error))
            return False
        if not data:
            self._over("it was closed")
            return False
        try:
            messages = self._buffer.feed(data)
        except BrokenPeer as error:
            self._over(str(error))
            return False
        for message in messages:
            self.on_message(message)
        return True

    def flush(self, seconds: float) -> None:
        """Write what is left, waiting up to ``seconds``; for the last words before the end."""
        if self.closed or not self._outbox:
            return
        self._sock.settimeout(seconds)
        with contextlib.suppress(OSError):
            self._sock.sendall(self._outbox)
        self._outbox.clear()

    def _over(self, reason: str) -> None:
        self.close()
        self.on_close(reason)

    def close(self) -> None:
        """Close the connection without telling ``on_close``."""
        if not self.closed:
            self.closed = True
            self._loop.forget(self.fd)
            self._sock.close()
