"""One task instance with its attempts and neighbours; the instances of a mapped task; questions to people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from treadle_metadata.queries.ui.summaries import state_of
from treadle_webserver.shapes.times import seconds_between, utc
from treadle_webserver.shapes.why import WhyShape


class AttemptShape(TypedDict):
    """One attempt. ``error`` has ``kind``, ``type``, ``message`` and, where there is one, ``traceback``."""

    try_number: int
    outcome: str | None
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    queue_seconds: float | None
    seconds: float | None
    executor: str
    hostname: str | None
    pid: int | None
    exit_code: int | None
    signal: int | None
    peak_rss_bytes: int | None
    cpu_seconds: float | None
    error: dict[str, Any] | None
    version_number: int


class NeighbourShape(TypedDict):
    """A task next to one; ``state`` is null where it has no instance yet."""

    task_id: str
    state: str | None
    counts: dict[str, int]


class InstanceFactsShape(TypedDict):
    """What the row of a task instance says."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    state: str
    operator: str
    try_number: int
    max_tries: int
    pool: str
    pool_slots: int
    queue: str
    executor: str | None
    priority_weight: int
    rendered_map_index: str | None
    note: str | None
    hostname: str | None
    pid: int | None
    scheduled_at: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    next_retry_at: datetime | None
    duration: float | None
    version_number: int


class LinkShape(TypedDict):
    """A link to what the task did elsewhere; ``url`` is null until an attempt of the newest try has ended with one."""

    name: str
    url: str | None


class InstancePageShape(InstanceFactsShape):
    """One task instance, with its attempts, its neighbours and why it does not run."""

    run_state: str
    trigger_rule: str | None
    doc_md: str | None
    is_mapped: bool
    attempts: list[AttemptShape]
    rendered_fields: dict[str, Any]
    links: list[LinkShape]
    upstream: list[NeighbourShape]
    downstream: list[NeighbourShape]
    why: WhyShape | None


class InstanceRowShape(TypedDict):
    """One instance of a mapped task."""

    map_index: int
    state: str
    rendered_map_index: str | None
    try_number: int
    max_tries: int
    scheduled_at: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    next_retry_at: datetime | None
    duration: float | None
    hostname: str | None
    has_note: bool
    waiting_for: str | None


class InstanceRowsShape(TypedDict):
    """A page of the instances of a task in a run."""

    dag_id: str
    run_id: str
    task_id: str
    counts: dict[str, int]
    instances: list[InstanceRowShape]
    next_cursor: str | None


class HumanStepShape(TypedDict):
    """A question that a task asks people. ``params``: the form, of each field its value, schema and description."""

    dag_id: str
    dag_name: str
    run_id: str
    task_id: str
    map_index: int
    subject: str
    body: str | None
    options: list[str]
    defaults: list[str] | None
    multiple: bool
    params: dict[str, Any]
    assignees: list[dict[str, Any]]
    asked_at: datetime | None
    due_at: datetime | None
    answered_at: datetime | None
    answered_by: str | None
    chosen: list[str] | None
    given: dict[str, Any] | None
    timed_out: bool


class HumanStepsShape(TypedDict):
    """The inbox. ``is_truncated``: there are more than these."""

    steps: list[HumanStepShape]
    open: int
    is_truncated: bool


def instance_facts_shape(row: Mapping[str, Any]) -> InstanceFactsShape:
    """Return a row of ``queries.task_instances``."""
    return {
        "dag_id": row["dag_id"],
        "run_id": row["run_id"],
        "task_id": row["task_id"],
        "map_index": row["map_index"],
        "state": row["state"],
        "operator": row["operator"],
        "try_number": row["try_number"],
        "max_tries": row["max_tries"],
        "pool": row["pool"],
        "pool_slots": row["pool_slots"],
        "queue": row["queue"],
        "executor": row["executor"],
        "priority_weight": row["priority_weight"],
        "rendered_map_index": row["rendered_map_index"],
        "note": row["note"],
        "hostname": row["hostname"],
        "pid": row["pid"],
        "scheduled_at": utc(row["scheduled_at"]),
        "queued_at": utc(row["queued_at"]),
        "started_at": utc(row["started_at"]),
        "ended_at": utc(row["ended_at"]),
        "next_retry_at": utc(row["next_retry_at"]),
        "duration": seconds_between(row["started_at"], row["ended_at"]),
        "version_number": row["version_number"],
    }


def attempt_shape(row: Mapping[str, Any]) -> AttemptShape:
    """Return a row of ``task_instances.list_tries``."""
    return {
        "try_number": row["try_number"],
        "outcome": row["outcome"],
        "queued_at": utc(row["queued_at"]),
        "started_at": utc(row["started_at"]),
        "ended_at": utc(row["ended_at"]),
        "queue_seconds": seconds_between(row["queued_at"], row["started_at"]),
        "seconds": seconds_between(row["started_at"], row["ended_at"]),
        "executor": row["executor"],
        "hostname": row["hostname"],
        "pid": row["pid"],
        "exit_code": row["exit_code"],
        "signal": row["signal"],
        "peak_rss_bytes": row["peak_rss_bytes"],
        "cpu_seconds": row["cpu_seconds"],
        "error": row["error"],
        "version_number": row["version_number"],
    }


def link_shapes(names: Sequence[str], found: Mapping[str, str]) -> list[LinkShape]:
    """Return the links that an operator names, in its order, then those that only an instance of it names."""
    every = dict.fromkeys([*names, *sorted(found)])
    return [{"name": name, "url": found.get(name)} for name in every]


def neighbour_shape(task_id: str, counts: dict[str, int]) -> NeighbourShape:
    """Return a task next to another with its states."""
    return {"task_id": task_id, "state": state_of(counts) if counts else None, "counts": counts}


def instance_row_shape(row: Mapping[str, Any]) -> InstanceRowShape:
    """Return a row of ``queries.ui.instances``."""
    return {
        "map_index": row["map_index"],
        "state": row["state"],
        "rendered_map_index": row["rendered_map_index"],
        "try_number": row["try_number"],
        "max_tries": row["max_tries"],
        "scheduled_at": utc(row["scheduled_at"]),
        "queued_at": utc(row["queued_at"]),
        "started_at": utc(row["started_at"]),
        "ended_at": utc(row["ended_at"]),
        "next_retry_at": utc(row["next_retry_at"]),
        "duration": seconds_between(row["started_at"], row["ended_at"]),
        "hostname": row["hostname"],
        "has_note": row["has_note"],
        "waiting_for": row["waiting_for"],
    }


def human_step_shape(row: Mapping[str, Any]) -> HumanStepShape:
    """Return a row of ``queries.ui.human_steps``."""
    return {
        "dag_id": row["dag_id"],
        "dag_name": row["display_name"] or row["dag_id"],
        "run_id": row["run_id"],
        "task_id": row["task_id"],
        "map_index": row["map_index"],
        "subject": row["subject"],
        "body": row["body"],
        "options": row["options"],
        "defaults": row["defaults"],
        "multiple": row["multiple"],
        "params": row["params"],
        "assignees": row["assignees"],
        "asked_at": utc(row["asked_at"]),
        "due_at": utc(row["due_at"]),
        "answered_at": utc(row["answered_at"]),
        "answered_by": row["answered_by"],
        "chosen": row["chosen"],
        "given": row["given"],
        "timed_out": row["timed_out"],
    }
