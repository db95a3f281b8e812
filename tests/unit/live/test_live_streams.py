"""The response of server-sent events: it ends with its events, with its reader, and drops a slow one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from treadle_webserver.live.streams import EventStream

SCOPE: dict[str, Any] = {"type": "http"}


class Browser:
    """An ASGI peer that reads ``reads`` messages and then leaves the rest lie."""

    def __init__(self, reads: int = 1000) -> None:
        self.got: list[bytes] = []
        self.gone = asyncio.Event()
        self._reads = reads

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            assert (b"content-type", b"text/event-stream; charset=utf-8") in message["headers"]
            return
        if len(self.got) >= self._reads:
            await asyncio.Event().wait()
        self.got.append(message["body"])


class Source:
    """Events that know whether they were closed."""

    def __init__(self, *events: bytes, ends: bool) -> None:
        self._events, self._ends = events, ends
        self.sent = 0
        self.is_closed = False
        self.has_sent_all = asyncio.Event()

    async def events(self) -> AsyncIterator[bytes]:
        try:
            for one in self._events:
                self.sent += 1
                yield one
            self.has_sent_all.set()
            if not self._ends:
                await asyncio.Event().wait()
        finally:
            self.is_closed = True


def test_a_stream_ends_with_its_events() -> None:
    async def run() -> tuple[list[bytes], bool]:
        browser, source = Browser(), Source(b"1", b"2", ends=True)
        await EventStream(source.events())(SCOPE, browser.receive, browser.send)
        return browser.got, source.is_closed

    assert asyncio.run(run()) == ([b"1", b"2", b""], True)


def test_a_stream_ends_when_its_reader_goes() -> None:
    async def run() -> bool:
        browser, source = Browser(), Source(b"1", ends=False)
        task = asyncio.create_task(EventStream(source.events())(SCOPE, browser.receive, browser.send))
        browser.gone.set()
        await asyncio.wait_for(task, 5)
        return source.is_closed

    assert asyncio.run(run())


def test_a_slow_reader_is_dropped_and_nothing_is_gathered_for_it() -> None:
    async def run() -> tuple[list[bytes], int, bool]:
        browser, source = Browser(reads=1), Source(*[b"x"] * 100, ends=False)
        await asyncio.wait_for(EventStream(source.events(), slow_seconds=0.02)(SCOPE, browser.receive, browser.send), 5)
        return browser.got, source.sent, source.is_closed

    assert asyncio.run(run()) == ([b"x"], 2, True)


def test_a_stream_that_is_cancelled_by_the_server_says_so() -> None:
    async def run() -> bool:
        browser, source = Browser(), Source(b"1", ends=False)
        task = asyncio.create_task(EventStream(source.events())(SCOPE, browser.receive, browser.send))
        await source.has_sent_all.wait()
        task.cancel()
        await asyncio.wait({task}, timeout=5)
        return task.cancelled() and source.is_closed

    assert asyncio.run(run())
