"""How a simulation is printed: an overview, one table of it, a JSON object, or a comparison of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

import click

from treadle_cli.output import Listing, counted, say, show, show_record
from treadle_scheduler.simulation import report
from treadle_scheduler.simulation.report import Usage
from treadle_scheduler.simulation.result import Result, RunOutcome
from treadle_scheduler.simulation.run import Prepared

VIEWS: Final = ("dags", "runs", "tasks", "pools", "hours", "timeline")
MOST_LINES: Final = 10
OPTIONAL: Final = ("run_id", "busiest_mean", "freest_mean", "mean", "mean_wait", "runs", "missed_deadlines")
"""Columns that a narrow terminal goes without."""

Row = dict[str, Any]


def show_result(result: Result, prepared: Prepared, late: timedelta, view: str | None, output: str | None) -> None:
    """Print one simulation: the table ``view``, else all of it."""
    if view is not None:
        show(_listing(result, view), output)
    elif output in ("json", "yaml"):
        show_record(_record(result, prepared, late), output)
    else:
        _overview(result, prepared, late, output)


def show_comparison(results: Sequence[Result], late: timedelta, output: str | None) -> None:
    """Print a row for each simulation."""
    rows = []
    for one in results:
        used, waits = report.executor_usage(one), [report.wait_of(run).total_seconds() for run in one.runs]
        rows.append(
            {
                "executor_slots": one.executor_slots,
                "runs": len(one.runs),
                "peak": used.peak,
                "mean": used.mean,
                "late_starts": len(report.late_starts(one, late)),
                "mean_wait": timedelta(seconds=round(sum(waits) / len(waits), 1)) if waits else timedelta(0),
                "longest_wait": timedelta(seconds=max(waits, default=0.0)),
                "missed_deadlines": len(one.missed_deadlines),
                "never_end": len(report.unfinished(one)),
                "last_end": max((run.ended_at for run in one.runs if run.ended_at), default=None),
            }
        )
    show(_worded(Listing(tuple(rows[0]), rows), output), output)


def _overview(result: Result, prepared: Prepared, late: timedelta, output: str | None) -> None:
    for line in _facts(result, prepared):
        say(line)
    views = ("runs" if len(result.runs) <= 4 * MOST_LINES else "dags", "pools")
    for view in views:
        click.echo("")
        show(_worded(_listing(result, view), output), output)
    for line in (*_advice(result), *_trouble(result, late)):
        say(line)


def _facts(result: Result, prepared: Prepared) -> list[str]:
    """Return what was simulated, and what it rests on."""
    durations = prepared.plan.durations
    tasks = [(dag.dag_id, task.task_id) for dag in prepared.definitions.documents.values() for task in dag.tasks]
    told = sum(one in durations.tasks or one[0] in durations.dags for one in tasks)
    past = sum(one in durations.past and one not in durations.tasks and one[0] not in durations.dags for one in tasks)
    step = f"{prepared.plan.resolution:g} s" if prepared.plan.resolution else "exact"
    lines = [
        f"{counted(len(result.runs), 'run')} and {counted(len(result.tasks), 'attempt')} due from "
        f"{_utc(result.begin)} to {_utc(result.end)} UTC, with {result.executor_slots} executor slots.",
        f"Durations of {counted(len(tasks), 'task')}: {told} from the file, {past} from the past month, "
        f"{len(tasks) - told - past} taken as {durations.seconds:g} s. Resolution: {step}.",
    ]
    for reason in sorted(set(result.left_out.values())):
        names = sorted(name for name, why in result.left_out.items() if why == reason)
        lines.append(f"Left out, since {reason}: {_some(names)}.")
    return lines


def _advice(result: Result) -> list[str]:
    """Return, for each pool, which hour is full, by which DAG, and which hour is free (case H16)."""
    lines = []
    for one in report.pool_usage(result):
        if one.busiest_share is None:
            continue
        dag_id, share = one.busiest_share
        lines.append(
            f"Pool {one.name}: busiest hour {one.busiest_hour:02}:00 UTC ({_of(one, one.by_hour[one.busiest_hour])} "
            f"slots on average, {share:.0%} of it {dag_id}), freest {one.freest_hour:02}:00 "
            f"({_of(one, one.by_hour[one.freest_hour])})."
        )
    return lines


def _trouble(result: Result, late: timedelta) -> list[str]:
    starts, endless = report.late_starts(result, late), report.unfinished(result)
    lines = []
    if starts:
        lines.append(f"{counted(len(starts), 'run')} would start more than {_length(late)} late, the latest:")
        lines += [f"  {_named(run)}, {_length(report.wait_of(run))} late" for run in starts[:MOST_LINES]]
    if result.missed_deadlines:
        lines.append(f"{counted(len(result.missed_deadlines), 'deadline')} would be missed:")
        lines += [
            f"  {one.dag_id} {one.run_id}: {one.name}, {_utc(one.due_at)} UTC"
            for one in result.missed_deadlines[:MOST_LINES]
        ]
    if endless:
        lines.append(f"{counted(len(endless), 'run')} would never end: {_some([_named(run) for run in endless])}.")
    return [*lines, *result.stuck]


def _listing(result: Result, view: str) -> Listing:
    match view:
        case "dags":
            rows: list[Row] = [_dag_row(one) for one in report.dag_summaries(result)]
        case "runs":
            rows = [_run_row(one) for one in result.runs]
        case "tasks":
            rows = [asdict(one) for one in result.tasks]
        case "pools":
            rows = [_usage_row(one) for one in _usages(result)]
        case "hours":
            rows = [_hour_row(result, hour) for hour in range(report.HOURS_OF_DAY)]
        case _:
            rows = [{"name": one.name, "at": at, "used": used} for one in _usages(result) for at, used in one.steps]
    return Listing(tuple(rows[0]) if rows else (view,), rows, "No run is due in this period.")


def _usages(result: Result) -> list[Usage]:
    return [*report.pool_usage(result), report.executor_usage(result)]


def _dag_row(one: report.DagSummary) -> Row:
    return {
        "dag_id": one.dag_id,
        "runs": one.runs,
        "failed": one.failed,
        "never_end": one.unfinished,
        "mean_duration": timedelta(seconds=round(one.mean_seconds, 1)),
        "longest_duration": timedelta(seconds=one.longest_seconds),
        "longest_wait": timedelta(seconds=one.longest_wait_seconds),
        "last_end": one.last_end,
    }


def _run_row(one: RunOutcome) -> Row:
    return {
        "dag_id": one.dag_id,
        "run_id": one.run_id,
        "due": one.due_at,
        "start": one.started_at,
        "end": one.ended_at,
        "wait": report.wait_of(one),
        "state": one.state,
    }


def _usage_row(one: Usage) -> Row:
    return {
        "name": one.name,
        "slots": "unlimited" if one.slots < 0 else one.slots,
        "peak": one.peak,
        "peak_at": one.peak_at,
        "mean": round(one.mean, 2),
        "busiest_hour": f"{one.busiest_hour:02}:00",
        "busiest_mean": round(one.by_hour[one.busiest_hour], 2),
        "busiest_dag": one.busiest_share and one.busiest_share[0],
        "freest_hour": f"{one.freest_hour:02}:00",
        "freest_mean": round(one.by_hour[one.freest_hour], 2),
    }


def _hour_row(result: Result, hour: int) -> Row:
    return {"hour": f"{hour:02}:00"} | {one.name: round(one.by_hour[hour], 2) for one in _usages(result)}


def _record(result: Result, prepared: Prepared, late: timedelta) -> Row:
    pools = [_usage_row(one) | {"by_hour": list(one.by_hour), "timeline": _timeline(one)} for one in _usages(result)]
    return {
        "from": result.begin,
        "to": result.end,
        "resolution_seconds": prepared.plan.resolution,
        "executor_slots": result.executor_slots,
        "dags": _listing(result, "dags").rows,
        "runs": _listing(result, "runs").rows,
        "pools": pools[:-1],
        "executor": pools[-1],
        "late_starts": [_run_row(one) for one in report.late_starts(result, late)],
        "missed_deadlines": [asdict(one) for one in result.missed_deadlines],
        "never_end": [_run_row(one) for one in report.unfinished(result)],
        "stuck": result.stuck,
        "left_out": result.left_out,
    }


def _timeline(one: Usage) -> list[Row]:
    return [{"at": at, "used": used} for at, used in one.steps]


def _worded(listing: Listing, output: str | None) -> Listing:
    """Return the listing with durations and instants as people read them, unless a program reads them."""
    if output in ("json", "yaml", "plain"):
        return listing
    optional = tuple(name for name in OPTIONAL if name in listing.columns)
    return Listing(listing.columns, [_readable(row) for row in listing.rows], listing.empty, optional=optional)


def _readable(row: Mapping[str, Any]) -> Row:
    return {name: _cell(value) for name, value in row.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, timedelta):
        return _length(value)
    return _utc(value) if isinstance(value, datetime) else value


def _length(length: timedelta) -> str:
    seconds = length.total_seconds()
    if seconds < 120:
        return f"{seconds:g} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}".removesuffix(":00")


def _named(run: RunOutcome) -> str:
    return f"{run.dag_id} {_utc(run.due_at)}"


def _of(one: Usage, used: float) -> str:
    return f"{used:.1f}" if one.slots < 0 else f"{used:.1f} of {one.slots}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_LINES
    return ", ".join(names[:MOST_LINES]) + (f" and {more} more" if more > 0 else "")
