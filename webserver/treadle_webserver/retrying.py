"""The route that answers a request again, from the start, when a deadlock or serialization failure rolled it back.

Every router of ``routes`` uses it. A handler writes in one transaction and nowhere else, so what was rolled back left
nothing behind; the rule for which failures count, and the waits, are those of ``Database.run``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from sqlalchemy.exc import DBAPIError

from treadle_metadata.connection import RETRIES, retry_seconds


class RetriedRoute(APIRoute):
    """A route whose handler runs again after a deadlock; the request's body is kept, so it is read once."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler with the retries around it."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            for failures in range(RETRIES):
                try:
                    return await handle(request)
                except DBAPIError as error:
                    wait = retry_seconds(error, failures)
                    if wait is None:
                        raise
                await asyncio.sleep(wait)
            raise AssertionError("unreachable")

        return answer
