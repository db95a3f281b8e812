"""The routes, one router for each resource. ``ROUTERS`` are all of them; ``permissions.TABLE`` guards them.

``APPS`` says which part of them a web server can serve alone: people's API, or the one of worker machines.
"""

from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter

from treadle_webserver.routes import (
    accounts,
    assets,
    backfills,
    callbacks,
    clearing,
    connections,
    dag_deletion,
    dag_run_batches,
    dag_runs,
    dag_sources,
    dags,
    dependencies,
    event_logs,
    execution,
    extra_links,
    human_steps,
    import_errors,
    installation,
    log_streams,
    login,
    logs,
    missed_times,
    monitor,
    oidc,
    own_access,
    pages,
    parsing,
    plugins,
    pools,
    queued_events,
    roles,
    run_previews,
    steps,
    task_instance_batches,
    task_instances,
    tasks,
    teams,
    tries,
    triggers,
    variables,
    version_diffs,
    waiting,
    why,
    xcoms,
)
from treadle_webserver.routes.ui import UI

# Paths with fixed words come before those that take any word in their place.
_API: Final[tuple[APIRouter, ...]] = (
    monitor.router,
    login.router,
    oidc.router,
    own_access.router,
    accounts.router,
    roles.router,
    teams.router,
    dags.router,
    dag_deletion.router,
    parsing.router,
    dag_sources.router,
    version_diffs.router,
    why.router,
    missed_times.router,
    tasks.router,
    dag_run_batches.router,
    dag_runs.router,
    run_previews.router,
    waiting.router,
    callbacks.router,
    clearing.router,
    logs.router,
    log_streams.router,
    xcoms.router,
    tries.router,
    extra_links.router,
    dependencies.router,
    steps.router,
    human_steps.router,
    task_instance_batches.router,
    task_instances.router,
    pools.router,
    variables.router,
    connections.router,
    backfills.router,
    import_errors.router,
    event_logs.router,
    installation.router,
    plugins.router,
    assets.router,
    queued_events.router,
    *UI,
    # Takes every address that is left.
    pages.router,
)

APPS: Final[Mapping[str, tuple[APIRouter, ...]]] = {
    "api": _API,
    # The health check belongs to both: whoever watches a server asks it.
    "execution": (monitor.router, execution.router, triggers.router),
}

ROUTERS: Final[tuple[APIRouter, ...]] = (*_API, execution.router, triggers.router)
