"""Frames between the event loop and its parent: never blocks the loop, keeps the order, and tells of the end.

Used by ``loop_process``. Whatever is sent within one turn of the loop goes out in one write.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from treadle_worker.frames import CHUNK, FrameBuffer, Message, encode


class Channel:
    """One end of a socket pair; ``on_message`` gets each message, ``on_end`` is called when the parent is gone."""

    def __init__(
        self,
        sock: socket.socket,
        loop: asyncio.AbstractEventLoop,
        on_message: Callable[[Message], None],
        on_end: Callable[[], None],
    ) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._loop = loop
        self._on_message = on_message
        self._on_end = on_end
        self._buffer = FrameBuffer()
        self._outbox = bytearray()
        self._is_writing = False
        self._is_over = False
        loop.add_reader(sock.fileno(), self._read)

    def send(self, message: Message) -> None:
        """Send a message as soon as the loop comes to it; nobody hears it once the parent is gone."""
        if self._is_over:
            return
        self._outbox += encode(message)
        if not self._is_writing:
            self._is_writing = True
            self._loop.call_soon(self._write)

    def _write(self) -> None:
        try:
            sent = self._sock.send(self._outbox)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._end()
            return
        del self._outbox[:sent]
        if self._outbox:
            self._loop.add_writer(self._sock.fileno(), self._write)
        else:
            self._loop.remove_writer(self._sock.fileno())
            self._is_writing = False

    async def flush(self) -> None:
        """Return when all that was sent has left."""
        while self._outbox:
            await asyncio.sleep(0.01)

    def _read(self) -> None:
        try:
            data = self._sock.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end()
            return
        for message in self._buffer.feed(data):
            self._on_message(message)

    def _end(self) -> None:
        self._loop.remove_reader(self._sock.fileno())
        self._loop.remove_writer(self._sock.fileno())
        self._is_over = True  # what is sent from now on would never leave, and ``flush`` would wait for it for ever
        self._outbox.clear()
        self._on_end()
