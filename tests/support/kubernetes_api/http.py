"""HTTP/1.1 on asyncio streams, as much of it as an API server needs: kept connections, bodies, chunked streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.kubernetes_api.store import Json, Refused


@dataclass(slots=True)
class Asked:
    """A request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


Answer = tuple[int, Json | str] | AsyncIterator[bytes]
Handler = Callable[[Asked], Awaitable[Answer]]

_WORDS = {200: "OK", 201: "Created", 403: "Forbidden", 404: "Not Found", 409: "Conflict", 410: "Gone"}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler) -> None:
    """Serve one connection."""
    try:
        while (asked := await _read(reader)) is not None:
            headers: dict[str, str] = {}
            try:
                answer = await handler(asked)
            except Refused as error:
                answer = error.status, error.body()
                if error.retry_after is not None:
                    headers["Retry-After"] = str(error.retry_after)
            if isinstance(answer, tuple):
                _write(writer, *answer, headers)
                await writer.drain()
            else:
                await _stream(writer, answer)
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {}
    for line in filter(None, lines):
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    body = json.loads(content) if content else None
    return Asked(method, parts.path, dict(parse_qsl(parts.query)), headers, body)


def _write(writer: asyncio.StreamWriter, status: int, body: Json | str, headers: dict[str, str]) -> None:
    is_text = isinstance(body, str)
    content = body.encode() if isinstance(body, str) else json.dumps(body, separators=(",", ":")).encode()
    lines = [f"HTTP/1.1 {status} {_WORDS.get(status, 'Status')}"]
    lines += [f"Content-Type: {'text/plain' if is_text else 'application/json'}", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + content)


async def _stream(writer: asyncio.StreamWriter, parts: AsyncIterator[bytes]) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    await writer.drain()
    async for part in parts:
        writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
