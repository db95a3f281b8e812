"""DAGs, their details, versions, source and statistics."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from treadle.asset_conditions import expression
from treadle.document import DagDocument, ParamDocument
from treadle.timetables.base import catchup_words
from treadle_metadata.settings import Settings
from treadle_webserver.shapes.ids import uuid_of
from treadle_webserver.shapes.times import BUNDLE, utc


class TagShape(TypedDict):
    """A tag of a DAG."""

    name: str
    dag_id: str
    dag_display_name: str


class DagShape(TypedDict):
    """One DAG in a list."""

    dag_id: str
    dag_display_name: str
    is_paused: bool
    is_stale: bool
    last_parsed_time: datetime | None
    last_parse_duration: float | None
    last_expired: datetime | None
    bundle_name: str
    bundle_version: str | None
    relative_fileloc: str
    fileloc: str
    description: str | None
    timetable_summary: str | None
    timetable_description: str | None
    timetable_partitioned: bool
    timetable_periodic: bool
    tags: list[TagShape]
    max_active_tasks: int
    max_active_runs: int
    max_consecutive_failed_dag_runs: int
    has_task_concurrency_limits: bool
    has_import_errors: bool
    next_dagrun_logical_date: datetime | None
    next_dagrun_data_interval_start: datetime | None
    next_dagrun_data_interval_end: datetime | None
    next_dagrun_run_after: datetime | None
    allowed_run_types: list[str] | None
    owners: list[str]
    is_backfillable: bool
    file_token: str


class DagListShape(TypedDict):
    """A page of DAGs."""

    dags: list[DagShape]
    total_entries: int


class VersionShape(TypedDict):
    """A version of a DAG."""

    id: str
    version_number: int
    dag_id: str
    bundle_name: str
    bundle_version: str | None
    bundle_url: str | None
    created_at: datetime | None
    dag_display_name: str


class VersionListShape(TypedDict):
    """A page of versions."""

    dag_versions: list[VersionShape]
    total_entries: int


class DagDetailsShape(DagShape):
    """One DAG with what its document says."""

    catchup: bool
    catchup_policy: str
    overlap_policy: str
    dag_run_timeout: timedelta | None
    asset_expression: dict[str, Any] | None
    doc_md: str | None
    start_date: str | None
    end_date: str | None
    is_paused_upon_creation: bool | None
    params: dict[str, Any]
    render_template_as_native_obj: bool
    template_search_path: list[str] | None
    timezone: str
    last_parsed: datetime | None
    default_args: dict[str, Any] | None
    rerun_with_latest_version: bool | None
    owner_links: dict[str, str]
    is_favorite: bool
    active_runs_count: int
    concurrency: int
    latest_dag_version: VersionShape | None


class SourceShape(TypedDict):
    """The text of a DAG's file as it was when the version was stored."""

    content: str
    dag_id: str
    dag_display_name: str
    version_number: int


class StateCountShape(TypedDict):
    """How many runs are in a state."""

    state: str
    count: int


class DagStatsShape(TypedDict):
    """The runs of a DAG by state."""

    dag_id: str
    dag_display_name: str
    stats: list[StateCountShape]


class DagStatsListShape(TypedDict):
    """The runs of several DAGs by state."""

    dags: list[DagStatsShape]
    total_entries: int


class TagListShape(TypedDict):
    """All tags."""

    tags: list[str]
    total_entries: int


@lru_cache(maxsize=4)
def _folder_of(home: Path, folder: Path) -> str:
    """Return the folder of DAG files as text; worked out once, since a list asks for each of its DAGs."""
    return str((home.expanduser() / folder).absolute())


def dag_shape(row: Mapping[str, Any], settings: Settings) -> DagShape:
    """Return a row of ``queries.dags`` as a DAG."""
    name = row["display_name"] or row["dag_id"]
    periodic = row["schedule_kind"] in {"cron", "delta"}
    return {
        "dag_id": row["dag_id"],
        "dag_display_name": name,
        "is_paused": row["is_paused"],
        "is_stale": not row["is_active"],
        "last_parsed_time": utc(row["last_parsed_at"]),
        "last_parse_duration": row["parse_seconds"],
        "last_expired": None,
        "bundle_name": BUNDLE,
        "bundle_version": None,
        "relative_fileloc": row["file"],
        "fileloc": f"{_folder_of(settings.home, settings.dags_folder)}/{row['file']}",
        "description": row["description"],
        "timetable_summary": row["schedule_summary"],
        "timetable_description": row["schedule_summary"],
        "timetable_partitioned": bool(row["is_partitioned"]),
        "timetable_periodic": periodic,
        "tags": [{"name": tag, "dag_id": row["dag_id"], "dag_display_name": name} for tag in row["tags"]],
        "max_active_tasks": row["max_active_tasks"] or settings.max_active_tasks_per_dag,
        "max_active_runs": row["max_active_runs"] or settings.max_active_runs_per_dag,
        "max_consecutive_failed_dag_runs": 0,
        "has_task_concurrency_limits": bool(row["has_task_limits"]),
        "has_import_errors": row["has_import_errors"],
        "next_dagrun_logical_date": utc(row["next_logical_date"]),
        "next_dagrun_data_interval_start": utc(row["next_interval_start"]),
        "next_dagrun_data_interval_end": utc(row["next_interval_end"]),
        "next_dagrun_run_after": utc(row["next_run_at"]),
        "allowed_run_types": None,
        "owners": row["owners"],
        "is_backfillable": periodic,
        "file_token": base64.urlsafe_b64encode(row["file"].encode()).decode(),
    }


def details_shape(
    row: Mapping[str, Any], version: Mapping[str, Any], document: DagDocument, *, active_runs: int, settings: Settings
) -> DagDetailsShape:
    """Return a DAG with what ``document`` (of its newest ``version``) says."""
    shape = dag_shape(row, settings)
    timeout = document.dagrun_timeout_seconds
    return {
        **shape,
        "catchup": document.catchup is True,
        "catchup_policy": catchup_words(document.catchup),
        "overlap_policy": document.overlap,
        "dag_run_timeout": None if timeout is None else timedelta(seconds=timeout),
        "asset_expression": None if document.schedule.condition is None else expression(document.schedule.condition),
        "doc_md": document.doc_md,
        "start_date": document.start_date,
        "end_date": document.end_date,
        "is_paused_upon_creation": document.is_paused_upon_creation,
        "params": {param.name: param_shape(param) for param in document.params},
        "render_template_as_native_obj": False,
        "template_search_path": None,
        "timezone": document.timezone,
        "last_parsed": utc(row["last_parsed_at"]),
        "default_args": None,
        "rerun_with_latest_version": None,
        "owner_links": {},
        "is_favorite": False,
        "active_runs_count": active_runs,
        "concurrency": shape["max_active_tasks"],
        "latest_dag_version": version_shape(version),
    }


def param_shape(param: ParamDocument) -> dict[str, Any]:
    """Return a DAG's parameter."""
    return {
        "value": param.value if param.has_default else None,
        "schema": param.schema,
        "description": param.description,
        "source": "dag",
    }


def version_shape(row: Mapping[str, Any]) -> VersionShape:
    """Return a row of ``queries.versions`` as a version."""
    return {
        "id": uuid_of(row["id"]),
        "version_number": row["number"],
        "dag_id": row["dag_id"],
        "bundle_name": BUNDLE,
        "bundle_version": None,
        "bundle_url": None,
        "created_at": utc(row["created_at"]),
        "dag_display_name": row["display_name"] or row["dag_id"],
    }


def version_of_run(row: Mapping[str, Any]) -> VersionShape:
    """Return the version that a run or task instance (a row of ``queries``) runs with."""
    return {
        "id": uuid_of(row["version_id"]),
        "version_number": row["version_number"],
        "dag_id": row["dag_id"],
        "bundle_name": BUNDLE,
        "bundle_version": None,
        "bundle_url": None,
        "created_at": utc(row["version_created_at"]),
        "dag_display_name": row["dag_display_name"] or row["dag_id"],
    }


def stats_shapes(rows: Iterable[Mapping[str, Any]]) -> list[DagStatsShape]:
    """Return the rows of ``queries.dags.run_counts`` grouped by DAG."""
    grouped: dict[str, DagStatsShape] = {}
    for row in rows:
        empty: DagStatsShape = {
            "dag_id": row["dag_id"],
            "dag_display_name": row["display_name"] or row["dag_id"],
            "stats": [],
        }
        grouped.setdefault(row["dag_id"], empty)["stats"].append({"state": row["state"], "count": row["count"]})
    return list(grouped.values())
