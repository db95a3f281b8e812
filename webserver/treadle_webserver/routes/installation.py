"""What the installation is: its daemons, its settings without the secrets, and the document of its API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Path, Query, Request

from treadle_metadata.errors import NotFoundError
from treadle_metadata.queries import jobs as queries
from treadle_metadata.queries.conditions import Between
from treadle_metadata.settings import Settings
from treadle_webserver.parameters import EndOfDay, Moment, PageQuery, Text, totals
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.installation import (
    JOB_TYPES,
    ConfigShape,
    JobListShape,
    OptionShape,
    job_shape,
)

router = APIRouter(prefix="/api/v2", tags=["Installation"], route_class=RetriedRoute)

SECTION: Final = "treadle"
"""Settings have no sections; clients of Airflow's API want one."""
HIDDEN: Final = "< hidden >"

Word = Annotated[str, Path(max_length=100)]


class JobQuery(PageQuery):
    """Which daemons."""

    is_alive: bool | None = None
    job_state: Literal["running", "success", "failed"] | None = None
    job_type: Text = None
    hostname: Text = None
    executor_class: Text = None
    start_date_gte: Moment = None
    start_date_gt: EndOfDay = None
    start_date_lte: EndOfDay = None
    start_date_lt: Moment = None
    end_date_gte: Moment = None
    end_date_gt: EndOfDay = None
    end_date_lte: EndOfDay = None
    end_date_lt: Moment = None

    def wanted(self) -> queries.JobFilter:
        """Return the filter; a type is understood by Airflow's name or by ours."""
        kinds = [kind for kind, name in JOB_TYPES.items() if self.job_type in {kind, name}]
        return queries.JobFilter(
            kinds=None if self.job_type is None else kinds or [self.job_type],
            state=self.job_state,
            alive=self.is_alive,
            hostname=self.hostname,
            executor=self.executor_class,
            started=self._between("start_date"),
            ended=self._between("end_date"),
        )

    def _between(self, name: str) -> Between:
        return Between(**{suffix: getattr(self, f"{name}_{suffix}") for suffix in ("gte", "gt", "lte", "lt")})


class ConfigQuery(PageQuery):
    """Which settings."""

    section: Text = None


@router.get("/jobs")
def get_jobs(query: Annotated[JobQuery, Query()], service: ServiceOf) -> JobListShape:
    """List the daemons that run or ran, the newest first."""
    with service.database.begin() as connection:
        page = queries.list_jobs(connection, query.wanted(), query.page, now=service.now())
    return {"jobs": [job_shape(row) for row in page.rows], **totals(page)}


@router.get("/config")
def get_config(query: Annotated[ConfigQuery, Query()], service: ServiceOf) -> ConfigShape:
    """Return the settings of this web server, the secret ones hidden."""
    if query.section not in {None, SECTION}:
        raise NotFoundError("section of settings", query.section, [SECTION])
    return {"sections": [{"name": SECTION, "options": list(_options(service.settings))}]}


@router.get("/config/section/{section}/option/{option}")
def get_config_value(section: Word, option: Word, service: ServiceOf) -> ConfigShape:
    """Return one setting, hidden if it is secret."""
    if section != SECTION:
        raise NotFoundError("section of settings", section, [SECTION])
    options = {one["key"]: one for one in _options(service.settings)}
    if option not in options:
        raise NotFoundError("setting", option, options)
    return {"sections": [{"name": SECTION, "options": [options[option]]}]}


@router.get("/openapi.json")
def get_openapi(request: Request) -> dict[str, Any]:
    """Return the OpenAPI document of this web server, for those who make clients from it."""
    document: dict[str, Any] = request.app.openapi()
    return document


def _options(settings: Settings) -> Iterator[OptionShape]:
    for one in fields(settings):
        value = str(getattr(settings, one.name))
        secret = one.metadata.get("secret") and value
        yield {"key": one.name, "value": HIDDEN if secret else _without_password(value)}


def _without_password(value: str) -> str:
    """Return ``value``, without the login that an address in it may hold."""
    parts = urlsplit(value) if "://" in value else None
    if parts is None or "@" not in parts.netloc:
        return value
    return parts._replace(netloc=f"{HIDDEN}@{parts.netloc.rpartition('@')[2]}").geturl()
