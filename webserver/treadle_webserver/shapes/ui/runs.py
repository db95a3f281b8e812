"""Runs: the grid, the list, one run, the states of its tasks, its Gantt chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from typing_extensions import TypedDict

from treadle_metadata.queries.ui.grid import Cells
from treadle_metadata.queries.ui.structures import Row
from treadle_webserver.shapes.times import seconds_between, utc
from treadle_webserver.shapes.why import WhyShape


class GridRowShape(TypedDict):
    """A task or group of the grid; a group stands before what is in it. ``is_removed``: no more in this version."""

    id: str
    label: str
    kind: Literal["task", "group"]
    parent: str | None
    depth: int
    is_mapped: bool
    operator: str | None
    trigger_rule: str | None
    is_setup: bool
    is_teardown: bool
    is_removed: bool


class GridRunShape(TypedDict):
    """A column of the grid.

    ``states`` stand in the order of the grid's rows, null where the run has no such task; ``counts`` tell, of mapped
    tasks and groups, how many instances are in which state; ``tries`` of what needed more than one.
    """

    run_id: str
    state: str
    run_type: str
    run_after: datetime | None
    logical_date: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    duration: float | None
    version_number: int
    has_note: bool
    is_backfill: bool
    states: list[str | None]
    counts: dict[str, dict[str, int]]
    tries: dict[str, int]


class GridShape(TypedDict):
    """A page of a DAG's grid: runs the newest first, older ones by ``next_cursor``."""

    dag_id: str
    version_number: int
    rows: list[GridRowShape]
    runs: list[GridRunShape]
    next_cursor: str | None


class CellShape(TypedDict):
    """The state of a task or group in a run; ``counts`` by state, with more than one instance where it is mapped."""

    state: str
    counts: dict[str, int]
    is_mapped: bool
    tries: int
    started_at: datetime | None
    ended_at: datetime | None
    duration: float | None


class RunStatesShape(TypedDict):
    """What is live of a run: its state, and of each task and group the state."""

    dag_id: str
    run_id: str
    state: str
    started_at: datetime | None
    ended_at: datetime | None
    version_number: int
    tasks: dict[str, CellShape]


class RunRowShape(TypedDict):
    """One run in the list over all DAGs."""

    dag_id: str
    dag_name: str
    run_id: str
    state: str
    run_type: str
    run_after: datetime | None
    logical_date: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    duration: float | None
    queue_seconds: float | None
    version_number: int
    triggered_by: str
    triggering_user: str | None
    note: str | None


class RunRowsShape(TypedDict):
    """A page of runs."""

    runs: list[RunRowShape]
    total: int | None
    is_total_capped: bool
    next_cursor: str | None


class RunShape(RunRowShape):
    """One run, with why it does not go on, its neighbours and its tasks by state."""

    conf: dict[str, Any]
    interval_start: datetime | None
    interval_end: datetime | None
    partition_key: str | None
    backfill_id: int | None
    clear_number: int
    ending: str | None
    counts: dict[str, int]
    previous_run_id: str | None
    next_run_id: str | None
    why: WhyShape | None
    expected_end_at: datetime | None
    """Of a run that has not ended: when it will, if it takes as long as the median of the last ones that succeeded."""


class BarShape(TypedDict):
    """One attempt on the Gantt chart; of an instance without attempts only its state."""

    task_id: str
    map_index: int
    state: str
    try_number: int | None
    outcome: str | None
    scheduled_at: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    pool: str
    executor: str | None
    hostname: str | None


class GanttShape(TypedDict):
    """All attempts of a run. ``critical_path``: the tasks that the run's end had to wait for, in order.

    ``expected_end_at``: of a run that has not ended, by the median of the last ones that succeeded.
    """

    dag_id: str
    run_id: str
    state: str
    version_number: int
    queued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    bars: list[BarShape]
    rows: list[GridRowShape]
    critical_path: list[str]
    is_truncated: bool
    expected_end_at: datetime | None


def grid_row_shape(row: Row, *, is_removed: bool = False) -> GridRowShape:
    """Return a row of a structure."""
    return {
        "id": row.id,
        "label": row.label,
        "kind": row.kind,
        "parent": row.parent,
        "depth": row.depth,
        "is_mapped": row.is_mapped,
        "operator": row.operator,
        "trigger_rule": row.trigger_rule,
        "is_setup": row.is_setup,
        "is_teardown": row.is_teardown,
        "is_removed": is_removed,
    }


def grid_run_shape(run: Mapping[str, Any], cells: Cells, row_ids: Sequence[str]) -> GridRunShape:
    """Return a run (a row of ``queries.ui.grid``) with its cells in the order of ``row_ids``."""
    return {
        "run_id": run["run_id"],
        "state": run["state"],
        "run_type": run["run_type"],
        "run_after": utc(run["run_after"]),
        "logical_date": utc(run["logical_date"]),
        "queued_at": utc(run["queued_at"]),
        "started_at": utc(run["started_at"]),
        "ended_at": utc(run["ended_at"]),
        "duration": seconds_between(run["started_at"], run["ended_at"]),
        "version_number": run["version_number"],
        "has_note": run["has_note"],
        "is_backfill": run["backfill_id"] is not None,
        "states": [cells[one].state if one in cells else None for one in row_ids],
        "counts": {one: cell.counts for one, cell in cells.items() if cell.is_mapped},
        "tries": {one: cell.tries for one, cell in cells.items() if cell.tries > 1},
    }


def cells_shape(cells: Cells) -> dict[str, CellShape]:
    """Return the cells of a run."""
    return {
        name: {
            "state": cell.state,
            "counts": cell.counts,
            "is_mapped": cell.is_mapped,
            "tries": cell.tries,
            "started_at": utc(cell.started),
            "ended_at": utc(cell.ended),
            "duration": seconds_between(cell.started, cell.ended),
        }
        for name, cell in cells.items()
    }


def run_row_shape(row: Mapping[str, Any]) -> RunRowShape:
    """Return a row of ``queries.ui.run_pages``."""
    return {
        "dag_id": row["dag_id"],
        "dag_name": row["display_name"] or row["dag_id"],
        "run_id": row["run_id"],
        "state": row["state"],
        "run_type": row["run_type"],
        "run_after": utc(row["run_after"]),
        "logical_date": utc(row["logical_date"]),
        "queued_at": utc(row["queued_at"]),
        "started_at": utc(row["started_at"]),
        "ended_at": utc(row["ended_at"]),
        "duration": seconds_between(row["started_at"], row["ended_at"]),
        "queue_seconds": seconds_between(row["queued_at"], row["started_at"]),
        "version_number": row["version_number"],
        "triggered_by": row["triggered_by"],
        "triggering_user": row["triggering_user"],
        "note": row["note"],
    }


def expected_end(row: Mapping[str, Any], seconds: float | None) -> datetime | None:
    """Return when a run that is under way will have taken ``seconds``."""
    if seconds is None or row["started_at"] is None or row["ended_at"] is not None:
        return None
    return utc(row["started_at"] + timedelta(seconds=seconds))


def run_shape(
    row: Mapping[str, Any], around: Mapping[str, Any], why: WhyShape | None, expected: float | None
) -> RunShape:
    """Return one run with what ``run_pages.neighbours`` found; ``expected``: the seconds that its like take."""
    return {
        **run_row_shape(row),
        "conf": row["conf"],
        "interval_start": utc(row["interval_start"]),
        "interval_end": utc(row["interval_end"]),
        "partition_key": row["partition_key"],
        "backfill_id": row["backfill_id"],
        "clear_number": row["clear_number"],
        "ending": row["ending"],
        "counts": around["counts"] or {},
        "previous_run_id": around["previous_run_id"],
        "next_run_id": around["next_run_id"],
        "why": why,
        "expected_end_at": expected_end(row, expected),
    }


def bar_shape(row: Mapping[str, Any]) -> BarShape:
    """Return a row of ``gantt.attempts``; what an attempt did not tell itself, its instance does."""
    newest = row["is_newest"] and row["try_number"] is not None
    return {
        "task_id": row["task_id"],
        "map_index": row["map_index"],
        "state": row["state"] if newest or row["try_number"] is None else (row["outcome"] or row["state"]),
        "try_number": row["try_number"],
        "outcome": row["outcome"],
        "scheduled_at": utc(row["scheduled_at"]) if newest else None,
        "queued_at": utc(row["queued_at"]),
        "started_at": utc(row["started_at"]),
        "ended_at": utc(row["ended_at"] or (row["instance_ended_at"] if newest else None)),
        "pool": row["pool"],
        "executor": row["executor"],
        "hostname": row["hostname"],
    }
