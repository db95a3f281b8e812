"""Health and version, for anyone: what watches the service and what waits for its start."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final

from fastapi import APIRouter
from sqlalchemy.exc import SQLAlchemyError
from typing_extensions import TypedDict

from treadle.version import __version__
from treadle_metadata.queries.health import DaemonHealth, daemon_health, failing_watchers, schedule_lag
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.times import utc

router = APIRouter(prefix="/api/v2", tags=["Monitor"], route_class=RetriedRoute)
_LOG = logging.getLogger(__name__)

SCHEDULER: Final = "scheduler"
DAG_PROCESSOR: Final = "dag-processor"
TRIGGERER: Final = "triggerer"
_KINDS: Final = (SCHEDULER, DAG_PROCESSOR, TRIGGERER)


class StatusShape(TypedDict):
    """Whether the database answers."""

    status: str


class SchedulerShape(TypedDict):
    """Whether a scheduler lives, and how old the oldest scheduled run is that is due and not made."""

    status: str | None
    latest_scheduler_heartbeat: datetime | None
    schedule_lag_seconds: float | None


class TriggererShape(TypedDict):
    """Whether a triggerer lives, and how many watchers of assets fail and are begun anew."""

    status: str | None
    latest_triggerer_heartbeat: datetime | None
    failing_watchers: int | None


class DagProcessorShape(TypedDict):
    """Whether a DAG processor lives."""

    status: str | None
    latest_dag_processor_heartbeat: datetime | None


class HealthShape(TypedDict):
    """The state of all parts: ``healthy``, ``unhealthy``, or null for one that never ran and need not."""

    metadatabase: StatusShape
    scheduler: SchedulerShape
    triggerer: TriggererShape
    dag_processor: DagProcessorShape


class VersionInfoShape(TypedDict):
    """The version of the service."""

    version: str
    git_version: str | None


@router.get("/monitor/health")
def get_health(service: ServiceOf) -> HealthShape:
    """Tell whether the database answers and which daemons hold their lease."""
    database, found, lag, failing = "healthy", {}, None, None
    try:
        with service.database.begin() as connection:
            found = daemon_health(connection, list(_KINDS), now=service.now())
            lag = schedule_lag(connection, now=service.now()).total_seconds()
            failing = failing_watchers(connection)
    except SQLAlchemyError as error:
        _LOG.warning("health: the database did not answer: %s", error)
        database = "unhealthy"
    return {
        "metadatabase": {"status": database},
        "scheduler": {
            "status": _status(found.get(SCHEDULER), needed=True),
            "latest_scheduler_heartbeat": _heartbeat(found.get(SCHEDULER)),
            "schedule_lag_seconds": lag,
        },
        "triggerer": {
            "status": _status(found.get(TRIGGERER), needed=False),
            "latest_triggerer_heartbeat": _heartbeat(found.get(TRIGGERER)),
            "failing_watchers": failing,
        },
        "dag_processor": {
            "status": _status(found.get(DAG_PROCESSOR), needed=True),
            "latest_dag_processor_heartbeat": _heartbeat(found.get(DAG_PROCESSOR)),
        },
    }


def _status(found: DaemonHealth | None, *, needed: bool) -> str | None:
    if found is None:
        return "unhealthy" if needed else None
    return "healthy" if found.is_alive else "unhealthy"


def _heartbeat(found: DaemonHealth | None) -> datetime | None:
    return None if found is None else utc(found.heartbeat_at)


@router.get("/version")
async def get_version() -> VersionInfoShape:
    """Return the version of the service."""
    return {"version": __version__, "git_version": None}
