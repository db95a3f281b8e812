"""Wraps the whole application: bounds the size of bodies, refuses NUL in addresses, and forbids caching (case F15).

Only a route that says how long its answer may be kept, as the files of the web pages do, is left to its word.
"""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle_webserver.problems import problem

LARGEST_BODY: Final = 4 * 1024 * 1024
LARGEST_REPORTS: Final = 64 * 1024 * 1024
"""A worker's finishes carry what tasks pushed, up to the setting ``xcom_max_bytes`` each."""
_LARGER: Final = {
    "/execution/v1/reports": LARGEST_REPORTS,
    "/execution/v1/triggerers/events": LARGEST_REPORTS,
}
_HEADERS: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class Limits:
    """ASGI middleware; plain, since Starlette's function form would copy every response through a task."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = _refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
        else:
            await self._app(scope, _bounded(receive, _limit(scope)), send_with_headers)


def _refusal(scope: Scope) -> Response | None:
    if "\0" in scope["path"] or b"%00" in scope.get("query_string", b""):
        return problem(422, "the address holds a NUL character")
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value) > _limit(scope)):
            return problem(413, _too_large(_limit(scope)))
    return None


def _limit(scope: Scope) -> int:
    return _LARGER.get(scope["path"], LARGEST_BODY)


def _too_large(limit: int) -> str:
    return f"the body is larger than {limit} bytes"


def _bounded(receive: Receive, limit: int) -> Receive:
    received = 0

    async def receive_bounded() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise HTTPException(413, _too_large(limit))
        return message

    return receive_bounded
