"""A client that costs little: HTTP over plain sockets, so that what is measured is the server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress


class Connection:
    """One connection that is kept."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def get(self, path: str) -> bytes:
        """GET ``path`` and return the body; anything but 200 is an error."""
        self._send(path)
        head = await self._head(path)
        if b"chunked" in head:
            return await self._chunks()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
        return await self._reader.readexactly(length)

    async def _head(self, path: str) -> bytes:
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200"):
            body = await self._reader.read(500)
            raise RuntimeError(f"GET {path}: {head.splitlines()[0].decode()} {body.decode(errors='replace')}")
        return head

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return body

    def _send(self, path: str) -> None:
        self._writer.write(
            f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self._token}\r\n\r\n".encode()
        )

    async def follow(self, path: str, ready: asyncio.Event, heard: list[tuple[float, bytes]]) -> None:
        """Read a stream of events; note each with the time at which it came."""
        self._send(path)
        await self._head(path)
        ready.set()
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                event = await self._reader.readuntil(b"\n\n")
                heard.append((time.perf_counter(), event))

    def close(self) -> None:
        """Close."""
        self._writer.close()


async def latencies(port: int, token: str, path: str, count: int) -> Sequence[float]:
    """Return the seconds of ``count`` requests one after another; some more before them warm up."""
    connection = Connection(port, token)
    await connection.open()
    found = []
    for number in range(count + 20):
        began = time.perf_counter()
        await connection.get(path)
        if number >= 20:
            found.append(time.perf_counter() - began)
    connection.close()
    return found


async def throughput(port: int, token: str, path: str, clients: int, seconds: float) -> float:
    """Return the requests per second of ``clients`` that each ask as soon as they are answered."""
    connections = [Connection(port, token) for _ in range(clients)]
    for one in connections:
        await one.open()
        await one.get(path)
    end = time.perf_counter() + seconds
    counts = await asyncio.gather(*(_ask(one, path, end) for one in connections))
    for one in connections:
        one.close()
    return sum(counts) / seconds


async def _ask(connection: Connection, path: str, end: float) -> int:
    count = 0
    while time.perf_counter() < end:
        await connection.get(path)
        count += 1
    return count
