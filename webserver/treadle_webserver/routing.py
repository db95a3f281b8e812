"""The route of every handler: the check comes first, and one thread runs all of a request.

FastAPI sends each synchronous step to a thread of its own, the check, the handler and the making of the answer, and
each hand-over costs as much as a small handler. Here a request goes to a thread once, with its body, and comes back as
an answer. Handlers that wait for more than the database are asynchronous, and run on the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from treadle_webserver.authorize import authorize
from treadle_webserver.calling import Call, NotInOrderError, result_of
from treadle_webserver.openapi import RESPONSES, operation_id
from treadle_webserver.threads import Threads


class Route(APIRoute):
    """A route that nobody passes without ``authorize``.

    Raises:
        TypeError: a dependency is synchronous, so that FastAPI would look for a thread for it.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options["generate_unique_id_function"] = operation_id
        options["responses"] = RESPONSES | (options.get("responses") or {})
        super().__init__(path, endpoint, **options)
        _check_dependencies(path, self.dependant)
        self.waits = iscoroutinefunction(endpoint)
        self.call = None if self.waits else Call.of(self)
        if not self.waits:
            self.dependant.call = _as_coroutine(endpoint)
        self._by_fastapi = self.get_route_handler()
        self.app = self._respond

    async def answer(self, request: Request) -> Response:
        """Return the answer to a request; an error is raised as it came."""
        threads: Threads = request.app.state.threads
        if self.waits:
            await threads.run(_check, request)
            return await self._long_way(request)
        return await threads.run(self._all_of_it, request, await _body(request))

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.answer(Request(scope, receive, send))
        await response(scope, receive, send)

    def _all_of_it(self, request: Request, body: bytes) -> Response:
        _check(request)
        if self.call is not None:
            try:
                return self.call.answer(request, body)
            except NotInOrderError:
                pass
        return result_of(self._long_way(request))

    async def _long_way(self, request: Request) -> Response:
        async with AsyncExitStack() as stack:
            # Where FastAPI would close what dependencies opened.
            request.scope["fastapi_inner_astack"] = request.scope["fastapi_function_astack"] = stack
            return await self._by_fastapi(request)


def _check_dependencies(path: str, of: Dependant) -> None:
    for one in of.dependencies:
        if not iscoroutinefunction(one.call):
            raise TypeError(f"{path}: the dependency {one.call!r} must be an async function that never waits")
        _check_dependencies(path, one)


def _check(request: Request) -> None:
    authorize(request, request.app.state.service)


async def _body(request: Request) -> bytes:
    try:
        return await request.body()
    except ClientDisconnect:
        # Of a client that was killed, say: no fault of ours, and nobody is there to read of it.
        raise HTTPException(400, "the connection ended before the body did") from None


def _as_coroutine(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(function)
    async def call(**values: Any) -> Any:
        return function(**values)

    return call
