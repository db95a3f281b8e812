"""Frames on a stream socket: four bytes of big-endian length, then UTF-8 JSON.

The executor, the host and the task children all speak through these two functions and this buffer. A peer that sends
a frame longer than ``MAX_FRAME``, or something that is no JSON object with a ``kind``, is broken: :class:`BrokenPeer`.
"""

from __future__ import annotations

import json
import socket
from typing import Any, Final

from treadle_worker.protocol import MAX_FRAME

Message = dict[str, Any]
CHUNK: Final = 64 * 1024
"""Bytes taken from a socket at a time, so that one talkative peer cannot hold up the others.

Below the size from which the C library maps memory from the system for each read and gives it back.
"""

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_loads = json.JSONDecoder().decode


class BrokenPeer(ValueError):
    """The other side sent something that is not a frame; the connection cannot go on."""


def encode(message: Message) -> bytes:
    """Return the frame of ``message``. A lone surrogate (undecodable file name) is sent as a question mark.

    Raises:
        BrokenPeer: the frame would be longer than ``MAX_FRAME``.
        TypeError: the message holds something that JSON cannot carry.
    """
    body = _dumps(message).encode("utf-8", "replace")
    if len(body) > MAX_FRAME:
        raise BrokenPeer(f"a {message.get('kind')!r} message has {len(body)} bytes, at most {MAX_FRAME} can be sent")
    return len(body).to_bytes(4, "big") + body


class FrameBuffer:
    """Collects bytes and gives back the messages that are complete."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Add ``data``; return the messages that it completed, in order.

        Raises:
            BrokenPeer: a length beyond ``MAX_FRAME``, no JSON, or no object with a ``kind``.
        """
        held = self._bytes
        held += data
        messages: list[Message] = []
        start, end = 0, len(held)
        while end - start >= 4:
            length = int.from_bytes(held[start : start + 4], "big")
            if length > MAX_FRAME:
                raise BrokenPeer(f"a frame announces {length} bytes, at most {MAX_FRAME} are allowed")
            if end - start - 4 < length:
                break
            messages.append(_decode(bytes(held[start + 4 : start + 4 + length])))
            start += 4 + length
        del held[:start]
        return messages


def _decode(body: bytes) -> Message:
    try:
        message = _loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise BrokenPeer(f"a frame of {len(body)} bytes is not JSON: {error}") from error
    if not isinstance(message, dict) or "kind" not in message:
        raise BrokenPeer("a frame is not an object with a 'kind'")
    return message


class FrameStream:
    """A blocking stream of frames, for a task child and for tests."""

    __slots__ = ("_buffer", "_ready", "sock")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._buffer = FrameBuffer()
        self._ready: list[Message] = []

    def send(self, message: Message) -> None:
        """Send one message, waiting until the kernel has taken all of it."""
        self.sock.sendall(encode(message))

    def receive(self) -> Message | None:
        """Return the next message, or None when the peer has closed its side."""
        while not self._ready:
            data = self.sock.recv(CHUNK)
            if not data:
                return None
            self._ready = self._buffer.feed(data)
        return self._ready.pop(0)
