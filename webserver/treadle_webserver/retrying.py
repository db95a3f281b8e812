"""The route that answers a request again, from the start, when a deadlock or serialization failure rolled it back.

Every router of ``routes`` uses it. A handler writes in one transaction and nowhere else, so what was rolled back left
nothing behind; the rule for which failures count, and the waits, are those of ``Database.run``.
"""

from __future__ import annotations

import asyncio

from fastapi import Request, Response
from sqlalchemy.exc import DBAPIError

from treadle_metadata.connection import RETRIES, retry_seconds
from treadle_webserver.routing import Route


class RetriedRoute(Route):
    """A route whose handler runs again after a deadlock; the request's body is kept, so it is read once."""

    async def answer(self, request: Request) -> Response:
        """Return the answer to a request, made anew as often as a deadlock undid it."""
        for failures in range(RETRIES):
            try:
                return await super().answer(request)
            except DBAPIError as error:
                wait = retry_seconds(error, failures)
                if wait is None:
                    raise
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")
