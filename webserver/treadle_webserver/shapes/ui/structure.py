"""The graph of a version, its code, and how a DAG did over time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Literal

from typing_extensions import TypedDict

from treadle.document import DagDocument, TaskDocument
from treadle_metadata.queries.ui.structures import Row, Structure
from treadle_webserver.shapes.times import utc


class GraphNodeShape(TypedDict):
    """A task, a group, or an asset that a task or the schedule names."""

    id: str
    label: str
    kind: Literal["task", "group", "asset", "asset_alias"]
    parent: str | None
    is_mapped: bool
    operator: str | None
    trigger_rule: str | None
    is_setup: bool
    is_teardown: bool
    doc_md: str | None


class GraphEdgeShape(TypedDict):
    """From a node to one that waits for it, or between an asset and who names it."""

    source: str
    target: str
    label: str | None
    kind: Literal["task", "setup", "schedule", "inlet", "outlet"]


class GraphShape(TypedDict):
    """A version's graph, tasks in topological order."""

    dag_id: str
    version_number: int
    nodes: list[GraphNodeShape]
    edges: list[GraphEdgeShape]


class VersionRowShape(TypedDict):
    """A version that can be picked."""

    version_number: int
    created_at: datetime | None


class CodeShape(TypedDict):
    """The text of a DAG's file in one version, and the versions there are, the newest first."""

    dag_id: str
    version_number: int
    file: str
    source: str
    line: int | None
    versions: list[VersionRowShape]


class CodeDiffShape(TypedDict):
    """The lines of a unified diff between the texts of two versions."""

    dag_id: str
    old_version: int
    new_version: int
    lines: list[str]


class DayShape(TypedDict):
    """The runs of one day: how many ended or are in which state, and how many are still to come."""

    day: date
    counts: dict[str, int]
    planned: int
    mean_seconds: float | None


class PlannedRunShape(TypedDict):
    """A run that the schedule will make."""

    run_after: datetime
    logical_date: datetime | None


class CalendarShape(TypedDict):
    """Outcomes by day of a zone, and the runs planned from now on."""

    dag_id: str
    timezone: str
    since: date
    until: date
    days: list[DayShape]
    planned: list[PlannedRunShape]
    is_schedule_known: bool
    """False where only a custom timetable, which is asked elsewhere, could tell."""


class RunDurationShape(TypedDict):
    """How long a run waited and took."""

    run_id: str
    state: str
    run_type: str
    run_after: datetime | None
    queue_seconds: float | None
    seconds: float | None


class TaskDurationShape(TypedDict):
    """How long a task's instances took over some runs; of those that succeeded."""

    task_id: str
    instances: int
    failed: int
    median_seconds: float | None
    p95_seconds: float | None
    longest_seconds: float | None
    median_queue_seconds: float | None
    most_tries: int


class DurationsShape(TypedDict):
    """The newest runs of a DAG, the oldest first, and its tasks."""

    dag_id: str
    runs: list[RunDurationShape]
    tasks: list[TaskDurationShape]
    median_seconds: float | None
    p95_seconds: float | None


class TaskPointShape(TypedDict):
    """One task in one run."""

    run_id: str
    run_after: datetime | None
    instances: int
    tries: int
    failed: bool
    median_seconds: float | None
    p95_seconds: float | None
    queue_seconds: float | None


class TaskPointsShape(TypedDict):
    """One task over the newest runs, the oldest first."""

    dag_id: str
    task_id: str
    points: list[TaskPointShape]


def graph_shape(structure: Structure) -> GraphShape:
    """Return the graph of a version."""
    document = structure.document
    assets = _assets(document)
    return {
        "dag_id": document.dag_id,
        "version_number": structure.number,
        "nodes": [*(_node(row) for row in structure.rows), *assets.values()],
        "edges": [*_task_edges(document), *_asset_edges(document)],
    }


def _node(row: Row) -> GraphNodeShape:
    return {
        "id": row.id,
        "label": row.label,
        "kind": row.kind,
        "parent": row.parent,
        "is_mapped": row.is_mapped,
        "operator": row.operator,
        "trigger_rule": row.trigger_rule,
        "is_setup": row.is_setup,
        "is_teardown": row.is_teardown,
        "doc_md": row.doc,
    }


def _task_edges(document: DagDocument) -> list[GraphEdgeShape]:
    labels = {(source, target): label for source, target, label in document.edge_labels}
    found: list[GraphEdgeShape] = []
    for task in document.tasks:
        for above in task.upstream:
            kind: Literal["task", "setup"] = "setup" if above in task.setups else "task"
            found.append(
                {"source": above, "target": task.task_id, "label": labels.get((above, task.task_id)), "kind": kind}
            )
    return found


def _asset_id(kind: str, name: str) -> str:
    """Return the id of an asset's node: it can be no task's, since a task's id has no colon."""
    return f"{kind}:{name}"


def _named(document: DagDocument) -> list[tuple[str, str]]:
    found = list(_in_condition(document.schedule.condition))
    for task in document.tasks:
        found += [*task.inlets, *task.outlets]
    return list(dict.fromkeys(found))


def _in_condition(condition: Any) -> list[tuple[str, str]]:
    if condition is None:
        return []
    if condition.inner:
        return [one for inner in condition.inner for one in _in_condition(inner)]
    return [(condition.kind, condition.name)]


def _assets(document: DagDocument) -> dict[str, GraphNodeShape]:
    return {
        _asset_id(kind, name): {
            "id": _asset_id(kind, name),
            "label": name,
            "kind": "asset_alias" if kind == "alias" else "asset",
            "parent": None,
            "is_mapped": False,
            "operator": None,
            "trigger_rule": None,
            "is_setup": False,
            "is_teardown": False,
            "doc_md": None,
        }
        for kind, name in _named(document)
    }


def _asset_edges(document: DagDocument) -> list[GraphEdgeShape]:
    roots = [task.task_id for task in document.tasks if not task.upstream]
    found: list[GraphEdgeShape] = [
        {"source": _asset_id(*key), "target": root, "label": None, "kind": "schedule"}
        for key in dict.fromkeys(_in_condition(document.schedule.condition))
        for root in roots
    ]
    for task in document.tasks:
        found += _edges_of(task)
    return found


def _edges_of(task: TaskDocument) -> list[GraphEdgeShape]:
    inlets: list[GraphEdgeShape] = [
        {"source": _asset_id(*key), "target": task.task_id, "label": None, "kind": "inlet"} for key in task.inlets
    ]
    outlets: list[GraphEdgeShape] = [
        {"source": task.task_id, "target": _asset_id(*key), "label": None, "kind": "outlet"} for key in task.outlets
    ]
    return inlets + outlets


def task_duration_shape(row: Mapping[str, Any]) -> TaskDurationShape:
    """Return a row of ``history.task_durations``."""
    median, p95 = row["seconds"] or (None, None)
    return {
        "task_id": row["task_id"],
        "instances": row["instances"],
        "failed": row["failed"],
        "median_seconds": median,
        "p95_seconds": p95,
        "longest_seconds": row["longest"],
        "median_queue_seconds": row["queued_seconds"],
        "most_tries": row["tries"],
    }


def task_point_shape(row: Mapping[str, Any]) -> TaskPointShape:
    """Return a row of ``history.task_points``."""
    median, p95 = row["seconds"] or (None, None)
    return {
        "run_id": row["run_id"],
        "run_after": utc(row["run_after"]),
        "instances": row["instances"],
        "tries": row["tries"],
        "failed": row["failed"],
        "median_seconds": median,
        "p95_seconds": p95,
        "queue_seconds": row["queued_seconds"],
    }
