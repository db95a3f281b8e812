"""Make the runs of DAGs that are scheduled by assets, of the events that have gathered for them.

A DAG is looked at when a new event was put before it, and locked meanwhile: of several schedulers one decides. A run
takes all that has gathered (``treadle_metadata.assets``), of a DAG by partitions all of its key. A DAG at its run limit
goes on gathering until a run of it ends (case A43), a paused one until it is unpaused. A crash leaves the events where
they were.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle.asset_conditions import is_met
from treadle.document import ScheduleDocument
from treadle_metadata import claims, dag_warnings
from treadle_metadata.assets import gathering
from treadle_metadata.identifiers import month_of
from treadle_metadata.planning import runs_under_way
from treadle_metadata.transitions import runs
from treadle_scheduler.context import Context, Done
from treadle_scheduler.partitioned import complete_partitions

BATCH: Final = 200

Row = Mapping[str, Any]


def create_asset_runs(context: Context) -> Done:
    """Make a run of each of a batch of DAGs whose condition is met, or of each of their partitions of which it is."""
    now = context.clock.now()

    def act(connection: Connection) -> Done:
        dags = claims.claim_dags_with_new_events(connection, most=BATCH)
        if not dags:
            return Done()
        free = _below_limit(connection, context, dags, now)
        versions = {dag["dag_id"]: dag["version_id"] for dag in free}
        met, is_more = _met(connection, context, versions, now)
        new = [_run(dag_id, versions[dag_id], key, now) for dag_id, key in met]
        made = runs.insert_runs(connection, new, month=month_of(now), now=now)
        if made:
            gathering.take_events(connection, made)
        return Done(len(made), again=is_more or len(dags) == BATCH)

    return context.database.run(act)


def _below_limit(connection: Connection, context: Context, dags: Sequence[Row], now: datetime) -> list[Row]:
    """Return the DAGs that may have a further run; the others are looked at when a run of theirs ends."""
    busy = runs_under_way(connection, [dag["dag_id"] for dag in dags], now=now)
    default = context.settings.max_active_runs_per_dag
    full = {dag["dag_id"] for dag in dags if busy.get(dag["dag_id"], 0) >= (dag["max_active_runs"] or default)}
    gathering.hold_at_limit(connection, sorted(full))
    return [dag for dag in dags if dag["dag_id"] not in full]


def _met(
    connection: Connection, context: Context, versions: Mapping[str, int], now: datetime
) -> tuple[list[tuple[str, str | None]], bool]:
    """Return each DAG of which a run is to be made, with the run's partition key, if it has one.

    The second value tells whether events were left to be looked at in the next beat.
    """
    graphs, unusable = context.graphs.usable(connection, list(versions.values()))
    told = {dag_id: f"It makes no run: {unusable[one]}." for dag_id, one in versions.items() if one in unusable}
    dag_warnings.warn(connection, dag_warnings.SCHEDULE, told, now=now)
    schedules = {
        dag_id: graphs[version_id].document.schedule for dag_id, version_id in versions.items() if version_id in graphs
    }
    plain = {dag_id: one for dag_id, one in schedules.items() if not one.partitions}
    keyed = {dag_id: one for dag_id, one in schedules.items() if one.partitions}
    met: list[tuple[str, str | None]] = []
    if plain:
        met += [(dag_id, None) for dag_id in _met_conditions(connection, plain)]
    if not keyed:
        return met, False
    complete, is_more = complete_partitions(connection, keyed, now=now)
    return met + complete, is_more


def _met_conditions(connection: Connection, schedules: Mapping[str, ScheduleDocument]) -> list[str]:
    """Return the DAGs whose condition is met; of the others, note that all that they have gathered was looked at."""
    met = _met_now(connection, schedules)
    others = {dag_id: one for dag_id, one in schedules.items() if dag_id not in met}
    if others:
        gathering.mark_seen(connection, list(others))
        met += _met_now(connection, others)
    return met


def _met_now(connection: Connection, schedules: Mapping[str, ScheduleDocument]) -> list[str]:
    updated = gathering.updated_parts(connection, list(schedules))
    return [
        dag_id
        for dag_id, schedule in schedules.items()
        if schedule.condition is not None and is_met(schedule.condition, updated.get(dag_id, ()))
    ]


def _run(dag_id: str, version_id: int, key: str | None, now: datetime) -> dict[str, Any]:
    return {
        "dag_id": dag_id,
        "run_id": f"asset_triggered__{now.isoformat()}_{secrets.token_hex(4)}",
        "version_id": version_id,
        "run_type": "asset_triggered",
        "run_after": now,
        "triggered_by": "asset",
        "partition_key": key,
    }
