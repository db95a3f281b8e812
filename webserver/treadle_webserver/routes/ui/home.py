"""The first page, and the runs to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from sqlalchemy import Connection

from treadle_metadata.queries.health import failing_watchers
from treadle_metadata.queries.ui import home as queries
from treadle_metadata.queries.ui import schedules
from treadle_metadata.queries.ui.pool_use import pool_use, tasks_under_way
from treadle_webserver.authorize import Actor, ActorOf, database_for
from treadle_webserver.forecast import Forecast, forecast
from treadle_webserver.permissions import Permission
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.monitor import DAG_PROCESSOR, SCHEDULER, TRIGGERER
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.times import utc
from treadle_webserver.shapes.ui.overview import (
    ForecastShape,
    HomeShape,
    broken_file_shape,
    coming_run_shape,
    daemon_shape,
    failed_run_shape,
    pool_use_shape,
)

router = APIRouter(prefix="/ui", tags=["UI"], route_class=RetriedRoute)

DAY: Final = timedelta(hours=24)
_KINDS: Final = (SCHEDULER, DAG_PROCESSOR, TRIGGERER, "webserver", "celery-worker", "transactional-worker")
_NEEDED: Final = (SCHEDULER, DAG_PROCESSOR)
_SHOWN: Final = 10
_POOLS: Final = 50
_FORECAST_DAGS: Final = 300


@router.get("/home")
def get_ui_home(actor: ActorOf, service: ServiceOf) -> HomeShape:
    """Return what the first page shows: of files, pools and daemons what their own pages would show to who asks."""
    now = service.now()
    errors, pools = _import_errors(actor, service), _pools(actor, service)
    sees_daemons = actor.rights.everywhere_may(Permission.READ_CONFIG)
    with service.database.begin() as connection:
        return _home(connection, errors, pools, sees_daemons, now)


def _import_errors(actor: Actor, service: Service) -> Sequence[Mapping[str, Any]]:
    """Return the newest files that cannot be imported: what is wrong with one is for those who may read its code."""
    database = database_for(service, actor.rights, Permission.READ_CODE)
    if database is None:
        return ()
    with database.begin() as connection:
        return queries.import_errors(connection, limit=_SHOWN)


def _pools(actor: Actor, service: Service) -> Sequence[Mapping[str, Any]]:
    """Return the pools, for those who may read any."""
    database = database_for(service, actor.rights, Permission.READ_POOLS)
    if database is None:
        return ()
    with database.begin() as connection:
        return pool_use(connection, limit=_POOLS)


def _home(
    connection: Connection,
    errors: Sequence[Mapping[str, Any]],
    pools: Sequence[Mapping[str, Any]],
    sees_daemons: bool,
    now: datetime,
) -> HomeShape:
    daemons = queries.daemons(connection, _KINDS, now=now)
    alive = {row["kind"] for row in daemons if row["is_alive"]}
    figures = queries.figures(connection, since=now - DAY, now=now)
    return {
        "now": now,
        "daemons": [daemon_shape(row) for row in daemons] if sees_daemons else [],
        "missing_daemons": [kind for kind in _NEEDED if kind not in alive],
        "schedule_lag_seconds": (now - (figures["late_since"] or now)).total_seconds(),
        "dags": {
            "all": figures["all_dags"],
            "unpaused": figures["unpaused"],
            "paused": figures["paused"],
            "broken": figures["broken"],
            "running": figures["active"],
        },
        "runs": {name: figures[name] for name in ("queued", "running", "failed", "success")},
        "tasks": tasks_under_way(connection),
        "failed_runs": [
            failed_run_shape(row) for row in queries.failed_runs(connection, since=now - DAY, limit=_SHOWN)
        ],
        "pools": [pool_use_shape(row) for row in pools],
        "import_errors": [broken_file_shape(row) for row in errors],
        "import_error_count": errors[0]["total"] if errors else 0,
        "coming_runs": [
            coming_run_shape(row) for row in queries.coming_runs(connection, until=now + DAY, limit=_SHOWN)
        ],
        "open_human_steps": figures["human_steps"],
        "failing_watchers": failing_watchers(connection),
    }


@router.get("/forecast")
def get_ui_forecast(
    service: ServiceOf,
    hours: Annotated[int, Query(ge=1, le=168)] = 24,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> ForecastShape:
    """Return the runs that schedules will make in the hours to come, as far as ``limit`` runs reach."""
    now = service.now()
    until = now + timedelta(hours=hours)
    with service.database.begin() as connection:
        found = schedules.soonest(connection, until=until, limit=_FORECAST_DAGS + 1)
    known_until = found[_FORECAST_DAGS]["next_run_at"] if len(found) > _FORECAST_DAGS else until
    style = service.settings.cron_style
    made = forecast(found[:_FORECAST_DAGS], until=until, cron_style=style, most=limit, known_until=known_until)
    return forecast_shape(made, now=now, until=until)


def forecast_shape(found: Forecast, *, now: datetime, until: datetime) -> ForecastShape:
    """Return a forecast, with its runs counted by the hour."""
    counted = Counter(one.run_after.replace(minute=0, second=0, microsecond=0) for one in found.runs)
    return {
        "now": now,
        "until": until,
        "known_until": utc(found.known_until) or until,
        "hours": [{"start": start, "runs": runs} for start, runs in sorted(counted.items())],
        "runs": [{"dag_id": one.dag_id, "run_after": one.run_after} for one in found.runs],
        "unknown": found.unknown,
    }
