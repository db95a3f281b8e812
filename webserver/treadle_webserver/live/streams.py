"""A response of server-sent events: ends when the browser goes, and drops a browser that does not read.

Nothing is gathered for a slow reader: what is to be sent is asked for when the last message has gone out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

HEARTBEAT: Final = b": still here\n\n"
HEARTBEAT_SECONDS: Final = 15.0
SLOW_SECONDS: Final = 10.0
"""How long a browser may leave a message lie before its stream is ended."""

log = logging.getLogger(__name__)


class EventStream(Response):
    """Sends what ``events`` yields, as it comes."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[bytes], *, slow_seconds: float = SLOW_SECONDS) -> None:
        self._events = events
        self._slow_seconds = slow_seconds
        self.background = None
        self.status_code = 200
        self.body = b""
        # Proxies that gather what they pass on are asked not to.
        self.init_headers({"x-accel-buffering": "no"})
        self.raw_headers = [one for one in self.raw_headers if one[0] != b"content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send until the events end, the browser goes, or it does not read."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.current_task()
        assert sending is not None
        watching = asyncio.create_task(_cancel_when_gone(receive, sending))
        patience = _Patience(sending, self._slow_seconds)
        try:
            await self._send_all(send, patience)
        except asyncio.CancelledError:
            if patience.is_over:
                log.info("a stream of events was dropped: its reader was too slow")
            elif not watching.done():
                raise
            sending.uncancel()
        finally:
            patience.end()
            watching.cancel()

    async def _send_all(self, send: Send, patience: _Patience) -> None:
        async with aclosing(self._events) as events:  # type: ignore[type-var]
            async for one in events:
                patience.begin()
                await send({"type": "http.response.body", "body": one, "more_body": True})
                patience.rest()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Patience:
    """Cancels ``sending`` when a message has not gone out for ``seconds``: one timer for all messages of a stream."""

    def __init__(self, sending: asyncio.Task[object], seconds: float) -> None:
        self.is_over = False
        self._sending, self._seconds = sending, seconds
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._timer = self._loop.call_later(seconds, self._look)

    def begin(self) -> None:
        self._since = self._loop.time()

    def rest(self) -> None:
        self._since = None

    def end(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        if self._since is not None and self._loop.time() - self._since >= self._seconds:
            self.is_over = True
            self._sending.cancel()
        else:
            self._timer = self._loop.call_later(self._seconds, self._look)


async def _cancel_when_gone(receive: Receive, sending: asyncio.Task[object]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    sending.cancel()
