"""The stream that tells open pages what changed, of what their account may see (``/ui/events``)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Header, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool

from treadle_metadata.errors import MetadataError
from treadle_metadata.rights.scoped_views import Scope, dags_of
from treadle_webserver.authorize import authorize
from treadle_webserver.live.hub import Hub
from treadle_webserver.live.ring import Told, message
from treadle_webserver.live.streams import HEARTBEAT, EventStream
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import BareServiceOf, Service

router = APIRouter(prefix="/ui", tags=["UI"], route_class=RetriedRoute)

ASKED_EVERY: Final = 60.0
"""Seconds after which a stream asks again what its account may see; sooner when rights have changed."""
ASKED_AT_MOST_EVERY: Final = 5.0
"""Seconds between two questions of a stream that was told of a DAG that it does not know."""

LastEvent = Annotated[str | None, Query(max_length=60, description="Where to read on, as the header Last-Event-ID")]


@router.get("/events", response_class=EventStream, status_code=200)
async def get_ui_events(
    request: Request,
    service: BareServiceOf,
    last_event_id: LastEvent = None,
    header: Annotated[str | None, Header(alias="Last-Event-ID", max_length=60)] = None,
) -> EventStream:
    """Stream what changes, as server-sent events.

    ``hello`` begins. ``change`` names runs (with their state), DAGs (null: any of them) and kinds of things; ``resync``
    says that something may have been missed, so that the page has to look at everything again.
    """
    follower = Follower(request.app.state.live, request, service)
    return EventStream(follower.events(header or last_event_id))


class Follower:
    """One stream: where it stands, and what its account may see."""

    def __init__(self, hub: Hub, request: Request, service: Service) -> None:
        self._hub = hub
        self._request = request
        self._service = service
        # Of an account that does not see everything, what it sees is asked for at once.
        scope: Scope | None = request.state.scope
        self._asked_at = time.monotonic() - (0 if scope is None else ASKED_EVERY)
        self._dags: frozenset[str] | None = None
        self._rights = hub.rights_changed

    async def events(self, last: str | None) -> AsyncIterator[bytes]:
        """Yield messages until the server stops or the account may see nothing more."""
        hub = self._hub
        hub.join()
        try:
            number = hub.ring.newest if last is None else hub.ring.number_of(last)
            yield message("hello", {}, hub.ring.id_of(hub.ring.newest) if number is None else hub.ring.id_of(number))
            while not hub.is_closed and await self._is_allowed():
                # What is told while this is sent belongs to the next round.
                newest = hub.ring.newest
                for one in self._next(number):
                    yield one
                number = newest
                if self._rights == hub.rights_changed and not await hub.changed(number):
                    yield HEARTBEAT
        finally:
            hub.leave()

    def _next(self, number: int | None) -> list[bytes]:
        ring, seen = self._hub.ring, self._dags
        told = None if number is None else ring.after(number)
        if told is None:
            return [message("resync", {}, ring.id_of(ring.newest))]
        if seen is None:
            return [b"".join(one.whole for one in told)] if told else []
        self._note_unknown(told, seen)
        found = (one.text(ring.id_of(one.number), seen.__contains__) for one in told)
        return [one for one in found if one is not None]

    def _note_unknown(self, told: list[Told], seen: frozenset[str]) -> None:
        """Have what the account may see asked for again soon, if there is a DAG that it may only just have got."""
        now = time.monotonic()
        if now - self._asked_at > ASKED_AT_MOST_EVERY and any(one.dags is None or one.dags - seen for one in told):
            self._asked_at = now - ASKED_EVERY

    async def _is_allowed(self) -> bool:
        """Ask from time to time, and when rights have changed, whether the account may still read, and what."""
        now = time.monotonic()
        if self._rights == self._hub.rights_changed and now - self._asked_at < ASKED_EVERY:
            return True
        self._rights, self._asked_at = self._hub.rights_changed, now
        try:
            await run_in_threadpool(self._ask)
        except (HTTPException, MetadataError):
            return False
        return True

    def _ask(self) -> None:
        """Check the rights again, and keep which DAGs they reach (None: all).

        Raises:
            HTTPException: the account may read no more.
        """
        authorize(self._request, self._service)
        scope: Scope | None = self._request.state.scope
        if scope is None:
            self._dags = None
            return
        with self._service.database.begin() as connection:
            self._dags = dags_of(connection, scope)
