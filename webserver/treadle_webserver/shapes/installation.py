"""Daemons and settings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from typing_extensions import TypedDict

from treadle_webserver.shapes.times import utc

JOB_TYPES: Final = {
    "scheduler": "SchedulerJob",
    "triggerer": "TriggererJob",
    "dag-processor": "DagProcessorJob",
    "webserver": "WebserverJob",
    "worker": "WorkerJob",
}
"""Airflow's names of kinds of daemons."""
_SAFE_INT: Final = 2**53 - 1


class JobShape(TypedDict):
    """A daemon: ``running``, ``success`` (it stopped in order) or ``failed`` (its lease ended)."""

    id: int
    dag_id: str | None
    dag_display_name: str | None
    state: str
    job_type: str
    start_date: datetime | None
    end_date: datetime | None
    latest_heartbeat: datetime | None
    executor_class: str | None
    hostname: str
    unixname: str | None


class JobListShape(TypedDict):
    """A page of daemons."""

    jobs: list[JobShape]
    total_entries: int


class OptionShape(TypedDict):
    """A setting; the value is ``< hidden >`` where it is a secret."""

    key: str
    value: str


class SectionShape(TypedDict):
    """Settings that belong together."""

    name: str
    options: list[OptionShape]


class ConfigShape(TypedDict):
    """The settings."""

    sections: list[SectionShape]


def job_shape(row: Mapping[str, Any]) -> JobShape:
    """Return a row of ``queries.jobs`` as a job; its number is a part of its id, since clients want a number."""
    return {
        "id": row["id"].int & _SAFE_INT,
        "dag_id": None,
        "dag_display_name": None,
        "state": row["state"],
        "job_type": JOB_TYPES.get(row["kind"], row["kind"]),
        "start_date": utc(row["started_at"]),
        "end_date": utc(row["stopped_at"]),
        "latest_heartbeat": utc(row["heartbeat_at"]),
        "executor_class": ", ".join(sorted(row["executors"])) if row["executors"] else None,
        "hostname": row["hostname"],
        "unixname": None,
    }
