"""The routes, one router for each resource. ``ROUTERS`` is the whole API; ``permissions.TABLE`` guards it."""

from typing import Final

from fastapi import APIRouter

from treadle_webserver.routes import (
    backfills,
    clearing,
    connections,
    dag_runs,
    dag_sources,
    dags,
    event_logs,
    execution,
    import_errors,
    login,
    logs,
    monitor,
    pools,
    task_instances,
    tasks,
    tries,
    variables,
    version_diffs,
    waiting,
    why,
    xcoms,
)

# Paths with fixed words come before those that take any word in their place.
ROUTERS: Final[tuple[APIRouter, ...]] = (
    monitor.router,
    login.router,
    dags.router,
    dag_sources.router,
    version_diffs.router,
    why.router,
    tasks.router,
    dag_runs.router,
    waiting.router,
    clearing.router,
    logs.router,
    xcoms.router,
    tries.router,
    task_instances.router,
    pools.router,
    variables.router,
    connections.router,
    backfills.router,
    import_errors.router,
    event_logs.router,
    execution.router,
)
