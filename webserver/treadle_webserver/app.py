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
from starlette.routing import BaseRoute

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
from treadle_webserver.branches import Branch
from treadle_webserver.identity_provider import provider_of
from treadle_webserver.limits import Limits
from treadle_webserver.live.hub import Hub
from treadle_webserver.permissions import check_table
from treadle_webserver.routes import APPS, ROUTERS
from treadle_webserver.service import Service
from treadle_webserver.throttle import Throttle
from treadle_webserver.tokens import check_secrets
from treadle_webserver.trigger_calls import TriggerCalls

THREADS: Final = 16
"""Handlers that run at once: fewer than the database connections of ``main.run``, so none waits for one in vain."""


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
    app.router.routes.extend(_guarded(tuple(_served(listed, apps))))
    errors.install(app)
    openapi.complete(app)
    app.add_middleware(Limits)
    return app


_built: dict[tuple[int, ...], tuple[tuple[APIRouter, ...], tuple[BaseRoute, ...]]] = {}
"""Routes by the ids of their routers, which are kept with them, so that no other router gets such an id."""


def _guarded(routers: tuple[APIRouter, ...]) -> tuple[BaseRoute, ...]:
    """Return the routes of ``routers`` with the check before each of them.

    They hold nothing of an application, so those of a process share them: FastAPI takes half a second to build them,
    at the first request.
    """
    key = tuple(id(router) for router in routers)
    if key in _built:
        return _built[key][1]
    mold = FastAPI(
        openapi_url=None,
        generate_unique_id_function=openapi.operation_id,
        responses=openapi.RESPONSES,
        dependencies=[Depends(authorize)],
    )
    for router in routers:
        mold.include_router(Branch(router))
    _built[key] = routers, tuple(mold.router.routes)
    return _built[key][1]


def _served(routers: Iterable[APIRouter], apps: Collection[str]) -> Iterator[APIRouter]:
    """Yield those of ``routers`` that belong to ``apps``, or to none."""
    served = {id(router) for name in apps for router in APPS[name]}
    left_out = {id(router) for routers in APPS.values() for router in routers} - served
    return (router for router in routers if id(router) not in left_out)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = THREADS
    service: Service = app.state.service
    service.sending.start()
    yield
    app.state.live.close()
    await to_thread.run_sync(service.sending.end)
    await to_thread.run_sync(service.trigger_calls.end)


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
