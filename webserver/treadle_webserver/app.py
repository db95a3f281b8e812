"""Puts the web application together: routers, the check before each of them, limits and error answers.

Called by ``main.run`` and by tests. It refuses to be made when a route lacks its permission.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import date
from functools import partial
from typing import Final

from anyio import to_thread
from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute

from treadle.version import __version__
from treadle_executors.log_sending import sending_of
from treadle_metadata import attempt_logs, login_settings
from treadle_metadata.attempt_tokens import AttemptTokens
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.crypto import Crypto
from treadle_metadata.settings import Settings
from treadle_metadata.triggerer_tokens import TriggererTokens
from treadle_webserver import errors, openapi
from treadle_webserver.authorize import authorize
from treadle_webserver.directory import Directory
from treadle_webserver.identity_provider import provider_of
from treadle_webserver.limits import Limits
from treadle_webserver.live.hub import Hub
from treadle_webserver.permissions import check_table
from treadle_webserver.routes import APPS, ROUTERS
from treadle_webserver.routing import Route
from treadle_webserver.service import Service
from treadle_webserver.threads import Threads
from treadle_webserver.throttle import Throttle
from treadle_webserver.tokens import check_secrets
from treadle_webserver.trigger_calls import TriggerCalls

THREADS: Final = 10
"""Requests that are worked on at once: more would only wait for the interpreter."""
WAITING_THREADS: Final = 6
"""Questions of streams and of others that wait, at once. All threads together are fewer than the database connections
of ``main.run``, so none waits for one in vain."""


def create_app(
    settings: Settings,
    database: Database,
    *,
    clock: Clock | None = None,
    routers: Iterable[APIRouter] = ROUTERS,
    apps: Collection[str] = tuple(APPS),
) -> FastAPI:
    """Return the application, with those of ``routers`` that belong to ``apps`` (names of ``APPS``).

    Raises:
        PermissionTableError: a route has no permission.
        SettingsError: ``jwt_secret`` is too short, or ``login`` cannot be used.
        CryptoError: ``fernet_key`` is missing or malformed.
    """
    check_secrets(settings.jwt_secret)
    login = login_settings.read(settings)
    listed = tuple(routers)
    check_table(routes_of(listed))
    app = FastAPI(
        title="Treadle",
        version=__version__,
        # The document is made from the code (``app.openapi()``), not served: nothing is open without a login.
        openapi_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        # Of routes that join later.
        dependencies=[Depends(authorize)],
    )
    app.state.service = Service(
        database=database,
        settings=settings,
        crypto=Crypto.of_setting(settings.fernet_key),
        clock=clock or SystemClock(),
        attempt_tokens=AttemptTokens(settings.jwt_secret),
        trigger_calls=TriggerCalls(database, TriggererTokens(settings.jwt_secret)),
        throttle=Throttle(),
        login=login,
        provider=provider_of(login, settings.public_url),
        sending=sending_of(settings, partial(_ended_attempts, database)),
    )
    app.state.live = Hub(database)
    app.state.threads = Threads(THREADS)
    app.router.routes.append(Directory(_guarded(_served(listed, apps))))
    errors.install(app)
    openapi.complete(app)
    app.add_middleware(Limits)
    return app


def _served(routers: Iterable[APIRouter], apps: Collection[str]) -> Iterator[APIRouter]:
    """Yield those of ``routers`` that belong to ``apps``, or to none."""
    served = {id(router) for name in apps for router in APPS[name]}
    left_out = {id(router) for routers in APPS.values() for router in routers} - served
    return (router for router in routers if id(router) not in left_out)


def _guarded(routers: Iterable[APIRouter]) -> list[Route]:
    """Return all routes, each of which is known to check who asks."""
    routes = [route for router in routers for route in router.routes]
    for route in routes:
        if not isinstance(route, Route):
            raise TypeError(f"{route!r} is no treadle_webserver.routing.Route, so nothing would check who asks")
    return [route for route in routes if isinstance(route, Route)]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = WAITING_THREADS
    service: Service = app.state.service
    service.sending.start()
    yield
    app.state.live.close()
    await to_thread.run_sync(service.sending.end)
    await to_thread.run_sync(service.trigger_calls.end)
    await to_thread.run_sync(app.state.threads.end)


def _ended_attempts(database: Database, wanted: Mapping[str, date]) -> set[str]:
    return database.run(lambda connection: attempt_logs.ended_attempts(connection, wanted))


def routes_of(routers: Iterable[APIRouter]) -> Iterator[tuple[str, str]]:
    """Yield the method and path of every route."""
    for router in routers:
        for route in router.routes:
            if not isinstance(route, APIRoute):
                raise TypeError(f"{route!r} is no APIRoute, so no permission could guard it")
            for method in sorted(route.methods or ()):
                yield method, route.path
