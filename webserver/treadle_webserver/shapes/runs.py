"""Runs and task instances."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle_webserver.shapes.dags import VersionShape, version_of_run
from treadle_webserver.shapes.ids import uuid_of
from treadle_webserver.shapes.installation import JobShape, job_shape
from treadle_webserver.shapes.times import seconds_between, utc


class RunShape(TypedDict):
    """One run."""

    dag_run_id: str
    dag_id: str
    dag_display_name: str
    logical_date: datetime | None
    queued_at: datetime | None
    start_date: datetime | None
    end_date: datetime | None
    duration: float | None
    data_interval_start: datetime | None
    data_interval_end: datetime | None
    run_after: datetime | None
    last_scheduling_decision: datetime | None
    run_type: str
    state: str
    triggered_by: str
    triggering_user_name: str | None
    conf: dict[str, Any]
    note: str | None
    dag_versions: list[VersionShape]
    bundle_version: str | None
    partition_key: str | None
    partition_date: datetime | None
    ending: str | None
    """Treadle's own: the state that a running run ends in, once its teardowns have run."""


class RunListShape(TypedDict):
    """A page of runs."""

    dag_runs: list[RunShape]
    total_entries: int | None
    total_entries_limit: int | None
    next_cursor: str | None
    previous_cursor: str | None


class _AttemptedShape(TypedDict):
    """What a task instance and each of its attempts have in common."""

    task_id: str
    dag_id: str
    dag_run_id: str
    map_index: int
    start_date: datetime | None
    end_date: datetime | None
    duration: float | None
    state: str | None
    try_number: int
    max_tries: int
    task_display_name: str
    dag_display_name: str
    hostname: str | None
    unixname: str | None
    pool: str
    pool_slots: int
    queue: str | None
    priority_weight: int | None
    operator: str | None
    operator_name: str | None
    queued_when: datetime | None
    scheduled_when: datetime | None
    pid: int | None
    executor: str | None
    executor_config: str
    dag_version: VersionShape | None


class TriggerOfTaskShape(TypedDict):
    """What a deferred task instance waits for. ``kwargs`` may hold secrets, and are not shown."""

    id: int
    classpath: str
    kwargs: str
    created_date: datetime | None
    queue: str | None
    triggerer_id: int | None


class InstanceShape(_AttemptedShape):
    """One task instance."""

    id: str
    logical_date: datetime | None
    run_after: datetime | None
    note: str | None
    rendered_map_index: str | None
    rendered_fields: dict[str, Any]
    trigger: TriggerOfTaskShape | None
    triggerer_job: JobShape | None
    waiting_for: str | None


class InstanceListShape(TypedDict):
    """A page of task instances."""

    task_instances: list[InstanceShape]
    total_entries: int | None
    total_entries_limit: int | None
    next_cursor: str | None
    previous_cursor: str | None


class ChangedInstancesShape(TypedDict):
    """The task instances that an act changed or would change."""

    task_instances: list[InstanceShape]
    total_entries: int


class TryShape(_AttemptedShape):
    """One attempt of a task instance. Its own fields are Treadle's own."""

    exit_code: int | None
    signal: int | None
    peak_rss_bytes: int | None
    cpu_seconds: float | None
    error: dict[str, Any] | None
    code_hash: str | None


class TryListShape(TypedDict):
    """All attempts of a task instance."""

    task_instances: list[TryShape]
    total_entries: int


def run_shape(row: Mapping[str, Any]) -> RunShape:
    """Return a row of ``queries.runs`` as a run."""
    return {
        "dag_run_id": row["run_id"],
        "dag_id": row["dag_id"],
        "dag_display_name": row["dag_display_name"] or row["dag_id"],
        "logical_date": utc(row["logical_date"]),
        "queued_at": utc(row["queued_at"]),
        "start_date": utc(row["started_at"]),
        "end_date": utc(row["ended_at"]),
        "duration": seconds_between(row["started_at"], row["ended_at"]),
        "data_interval_start": utc(row["interval_start"]),
        "data_interval_end": utc(row["interval_end"]),
        "run_after": utc(row["run_after"]),
        "last_scheduling_decision": None,
        "run_type": row["run_type"],
        "state": row["state"],
        "triggered_by": row["triggered_by"],
        "triggering_user_name": row["triggering_user"],
        "conf": row["conf"],
        "note": row["note"],
        "dag_versions": [version_of_run(row)],
        "bundle_version": None,
        "partition_key": row["partition_key"],
        "partition_date": utc(row["partition_date"]),
        "ending": row["ending"],
    }


def wait_shapes(wait: Mapping[str, Any] | None) -> tuple[TriggerOfTaskShape | None, JobShape | None]:
    """Return the trigger that an instance waits for (``queries.triggers``), and the triggerer that runs it."""
    if wait is None:
        return None, None
    job = None if wait["id"] is None else job_shape(wait)
    trigger: TriggerOfTaskShape = {
        "id": wait["trigger_id"],
        "classpath": wait["classpath"],
        "kwargs": "***",
        "created_date": utc(wait["created_at"]),
        "queue": None,
        "triggerer_id": None if job is None else job["id"],
    }
    return trigger, job


def instance_shape(row: Mapping[str, Any], rendered_fields: dict[str, Any] | None = None) -> InstanceShape:
    """Return a row of ``queries.task_instances`` as a task instance; an undecided one has the state null."""
    trigger, triggerer = wait_shapes(row.get("waits_for"))
    return {
        "id": uuid_of(row["id"]),
        "task_id": row["task_id"],
        "dag_id": row["dag_id"],
        "dag_run_id": row["run_id"],
        "map_index": row["map_index"],
        "logical_date": utc(row["logical_date"]),
        "run_after": utc(row["run_after"]),
        "start_date": utc(row["started_at"]),
        "end_date": utc(row["ended_at"]),
        "duration": seconds_between(row["started_at"], row["ended_at"]),
        "state": None if row["state"] == "none" else row["state"],
        "try_number": row["try_number"],
        "max_tries": row["max_tries"],
        "task_display_name": row["task_id"],
        "dag_display_name": row["dag_display_name"] or row["dag_id"],
        "hostname": row["hostname"],
        "unixname": None,
        "pool": row["pool"],
        "pool_slots": row["pool_slots"],
        "queue": row["queue"],
        "priority_weight": row["priority_weight"],
        "operator": row["operator"],
        "operator_name": row["operator"],
        "queued_when": utc(row["queued_at"]),
        "scheduled_when": utc(row["scheduled_at"]),
        "pid": row["pid"],
        "executor": row["executor"],
        "executor_config": "{}",
        "note": row["note"],
        "rendered_map_index": row["rendered_map_index"],
        "rendered_fields": rendered_fields or {},
        "trigger": trigger,
        "triggerer_job": triggerer,
        "dag_version": version_of_run(row),
        "waiting_for": row["waiting_for"],
    }


_STATE_AFTER = {
    "failed_without_retry": "failed",
    "withdrawn": "failed",
    "handed_back": "scheduled",
    "suspended": "up_for_reschedule",
}
"""What an outcome that is not the name of a state made of the instance."""


def try_shape(instance: Mapping[str, Any], attempt: Mapping[str, Any]) -> TryShape:
    """Return an attempt (a row of ``list_tries``) of ``instance``."""
    newest = attempt["attempt_id"] == instance["attempt_id"]
    state = instance["state"] if newest else _STATE_AFTER.get(attempt["outcome"], attempt["outcome"])
    facts = instance_shape(instance)
    version = version_of_run(
        {**instance, **{name: attempt[name] for name in ("version_id", "version_number", "version_created_at")}}
    )
    return {
        "task_id": facts["task_id"],
        "dag_id": facts["dag_id"],
        "dag_run_id": facts["dag_run_id"],
        "map_index": facts["map_index"],
        "start_date": utc(attempt["started_at"]),
        "end_date": utc(attempt["ended_at"]),
        "duration": seconds_between(attempt["started_at"], attempt["ended_at"]),
        "state": None if state == "none" else state,
        "try_number": attempt["try_number"],
        "max_tries": facts["max_tries"],
        "task_display_name": facts["task_display_name"],
        "dag_display_name": facts["dag_display_name"],
        "hostname": attempt["hostname"],
        "unixname": None,
        "pool": facts["pool"],
        "pool_slots": facts["pool_slots"],
        "queue": facts["queue"],
        "priority_weight": facts["priority_weight"],
        "operator": facts["operator"],
        "operator_name": facts["operator_name"],
        "queued_when": utc(attempt["queued_at"]),
        "scheduled_when": None,
        "pid": attempt["pid"],
        "executor": attempt["executor"],
        "executor_config": facts["executor_config"],
        "dag_version": version,
        "exit_code": attempt["exit_code"],
        "signal": attempt["signal"],
        "peak_rss_bytes": attempt["peak_rss_bytes"],
        "cpu_seconds": attempt["cpu_seconds"],
        "error": attempt["error"],
        "code_hash": attempt["code_hash"],
    }
