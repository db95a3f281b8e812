"""Why runs of a simulation never end: told when nothing can happen any more.

Tasks that wait for another DAG's run while they hold every slot which that run needs are the classic of them (case
B14). All other waits are explained as ``treadle tasks why`` explains them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata import processes
from treadle_metadata.queries.simulation import waiting_tasks
from treadle_metadata.queries.why import why_is_task_not_running
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload

MOST: Final = 10
"""Sentences of one kind."""

Awaited = Sequence[tuple[Workload, tuple[str, datetime]]]


def explain(connection: Connection, awaited: Awaited, *, now: datetime, settings: Settings) -> tuple[str, ...]:
    """Return a sentence for each thing that holds runs up for ever."""
    waiting = waiting_tasks(connection)
    # The scheduler of this simulation is alive, which explanations ask first.
    processes.register(connection, "scheduler", now, settings.lease_seconds)
    sentences = [
        f"{one['number']} waiting {'instance' if one['number'] == 1 else 'instances'} of {one['dag_id']}."
        f"{one['task_id']}: "
        + why_is_task_not_running(
            connection,
            one["dag_id"],
            one["run_id"],
            one["task_id"],
            one["map_index"],
            now=now,
            settings=settings,
        ).sentence
        for one in waiting[:MOST]
    ]
    return (*deadlocks(awaited, waiting), *sentences)


def deadlocks(awaited: Awaited, waiting: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each DAG that attempts wait for: why its runs do not come (pure)."""
    starved: dict[str, list[str]] = {}
    for one in waiting:
        starved.setdefault(one["dag_id"], []).append(one["task_id"])
    by_dag: dict[str, list[Workload]] = {}
    for workload, (dag_id, _) in awaited:
        by_dag.setdefault(dag_id, []).append(workload)
    return [_sentence(dag_id, workloads, starved.get(dag_id, [])) for dag_id, workloads in sorted(by_dag.items())]


def _sentence(dag_id: str, workloads: Sequence[Workload], starved: Sequence[str]) -> str:
    names = sorted({f"{one['dag_id']}.{one['task_id']}" for one in workloads})
    who = f"{len(workloads)} running {'attempt' if len(workloads) == 1 else 'attempts'} of {', '.join(names[:MOST])}"
    pools = ", ".join(sorted({repr(one["pool"]) for one in workloads}))
    if starved:
        return (
            f"Slot deadlock: {who} hold their slots (pool {pools}) while they wait for runs of {dag_id}, whose "
            f"{', '.join(starved[:MOST])} cannot start for want of a slot. Give them different pools, or let what "
            "waits be deferrable."
        )
    return f"{who} wait for runs of {dag_id} that have not succeeded or that there are none of."
