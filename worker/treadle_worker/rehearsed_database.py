"""A PostgreSQL that keeps nothing, for the rehearsal of a transactional task: one client at a time, on one socket.

Run by ``rehearsal`` in a process of its own, which is killed when the rehearsal is over. It speaks as much of the
protocol as such a task needs: it asks for the password by SCRAM, takes whatever is given, and answers each SELECT with
the row that it was told to.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Final

_INT: Final = struct.Struct("!I")
_HEAD: Final = struct.Struct("!cI")
_SALT: Final = b"of the rehearsal"
_STATUS: Final = {
    "server_version": "18.0",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
}

Row = Sequence[tuple[int, bytes | None]]
"""The number of each column's type, and the column's text."""


def serve(listening: socket.socket, password: str, row: Row) -> None:
    """Answer clients, one after the other, until this process is killed."""
    while True:
        client, _ = listening.accept()
        with client, client.makefile("rb") as incoming:
            _Session(client, incoming.read, password.encode(), row).run()


class _Session:
    """One client. What is answered gathers until the client waits for it, as a server's does."""

    def __init__(self, client: socket.socket, read: Callable[[int], bytes], password: bytes, row: Row) -> None:
        self._client = client
        self._read = read
        self._password = password
        self._row = row
        self._statement = b""
        self._state = b"I"
        self._answers = bytearray()

    def run(self) -> None:
        """Log the client in and answer it until it ends the session."""
        (length,) = _INT.unpack(self._read(4))
        self._read(length - 4)
        self._log_in()
        for name, value in _STATUS.items():
            self._add(b"S", name.encode() + b"\0" + value.encode() + b"\0")
        self._add(b"K", _INT.pack(1) + _INT.pack(1))
        self._ready()
        kind, body = self._next()
        while kind not in (b"X", b""):
            self._take(kind, body)
            kind, body = self._next()

    def _log_in(self) -> None:
        """Ask for the password by SCRAM-SHA-256 (RFC 5802), and prove to have known it."""
        self._add(b"R", _INT.pack(10) + b"SCRAM-SHA-256\0\0")
        self._send()
        bare = self._next()[1].partition(b",,")[2]
        first = b"r=" + bare.rpartition(b"r=")[2] + b"rehearsal,s=" + base64.b64encode(_SALT) + b",i=1"
        self._add(b"R", _INT.pack(11) + first)
        self._send()
        last = self._next()[1].rpartition(b",p=")[0]
        salted = hashlib.pbkdf2_hmac("sha256", self._password, _SALT, 1)
        key = hmac.digest(salted, b"Server Key", "sha256")
        proof = hmac.digest(key, b",".join((bare, first, last)), "sha256")
        self._add(b"R", _INT.pack(12) + b"v=" + base64.b64encode(proof))
        self._add(b"R", _INT.pack(0))

    def _take(self, kind: bytes, body: bytes) -> None:
        if kind == b"Q":
            self._statement = body.rstrip(b"\0")
            self._describe()
            self._execute()
            self._ready()
        elif kind == b"P":
            self._statement = body.split(b"\0", 2)[1]
            self._add(b"1", b"")
        elif kind == b"B":
            self._add(b"2", b"")
        elif kind == b"D" and not self._describe():
            self._add(b"n", b"")
        elif kind == b"E":
            self._execute()
        elif kind == b"S":
            self._ready()

    def _describe(self) -> bool:
        """Tell of the columns; there are none where nothing is selected."""
        has_row = self._statement.lstrip().startswith(b"SELECT")
        if has_row:
            columns = [b"column\0" + struct.pack("!IHIhih", 0, 0, oid, -1, -1, 0) for oid, _ in self._row]
            self._add(b"T", struct.pack("!H", len(columns)) + b"".join(columns))
        return has_row

    def _execute(self) -> None:
        words = self._statement.split()
        if words[0] == b"SELECT":
            texts = [_INT.pack(0xFFFFFFFF) if text is None else _INT.pack(len(text)) + text for _, text in self._row]
            self._add(b"D", struct.pack("!H", len(texts)) + b"".join(texts))
        self._state = {b"BEGIN": b"T", b"COMMIT": b"I", b"ROLLBACK": b"I"}.get(words[0], self._state)
        self._add(b"C", (b"INSERT 0 1" if words[0] == b"INSERT" else words[0] + b" 1") + b"\0")

    def _next(self) -> tuple[bytes, bytes]:
        head = self._read(_HEAD.size)
        if len(head) < _HEAD.size:
            return b"", b""
        kind, length = _HEAD.unpack(head)
        return kind, self._read(length - 4)

    def _add(self, kind: bytes, body: bytes) -> None:
        self._answers += _HEAD.pack(kind, len(body) + 4) + body

    def _ready(self) -> None:
        self._add(b"Z", self._state)
        self._send()

    def _send(self) -> None:
        self._client.sendall(self._answers)
        self._answers.clear()
