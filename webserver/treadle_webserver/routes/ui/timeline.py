"""All DAGs on one line of time: past runs, the load of pools, and the runs to come."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import AwareDatetime

from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries.ui import schedules
from treadle_metadata.queries.ui import timeline as queries
from treadle_webserver.forecast import forecast
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.ui.home import forecast_shape
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.times import utc
from treadle_webserver.shapes.ui.across import TimelineShape, timeline_run_shape
from treadle_webserver.shapes.ui.overview import ForecastShape

router = APIRouter(prefix="/ui/timeline", tags=["UI"], route_class=RetriedRoute)

_LONGEST: Final = timedelta(days=31)
_DAGS: Final = 300
_PLANNED: Final = 2_000


@router.get("")
def get_ui_timeline(
    service: ServiceOf,
    since: AwareDatetime,
    until: AwareDatetime,
    parts: Annotated[int, Query(ge=1, le=500, description="Parts of the window for the load of pools")] = 96,
) -> TimelineShape:
    """Return the runs under way between ``since`` and ``until``, what they held of pools, and what is to come."""
    if not timedelta(0) < until - since <= _LONGEST:
        raise InvalidRequestError(f"until must lie after since, by {_LONGEST.days} days at most")
    now = service.now()
    with service.database.begin() as connection:
        runs, is_truncated = queries.runs_between(connection, since=since, until=until)
        started = [(run["id"], run["month"]) for run in runs if run["started_at"] is not None]
        load = queries.pool_load(connection, started, since=since, until=until, now=now, parts=parts)
        slots = queries.slots_of(connection, list(load)) if load else {}
    return {
        "since": utc(since) or since,
        "until": utc(until) or until,
        "now": now,
        "runs": [timeline_run_shape(run) for run in runs],
        "is_truncated": is_truncated,
        "part_seconds": (until - since).total_seconds() / parts,
        "pools": [{"pool": pool, "slots": slots.get(pool), "held": held} for pool, held in sorted(load.items())],
        "forecast": _forecast(service, now, until) if until > now else None,
    }


def _forecast(service: Service, now: datetime, until: datetime) -> ForecastShape:
    with service.database.begin() as connection:
        found = schedules.soonest(connection, until=until, limit=_DAGS + 1)
    known_until = found[_DAGS]["next_run_at"] if len(found) > _DAGS else until
    style = service.settings.cron_style
    made = forecast(found[:_DAGS], until=until, cron_style=style, most=_PLANNED, known_until=known_until)
    return forecast_shape(made, now=now, until=until)
