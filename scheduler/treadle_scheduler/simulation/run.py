"""Simulations of an installation: reads its definitions and its past once, and plays them out in scratch databases.

``treadle dags simulate`` calls this. The installation is read in one read-only transaction; a crash or Ctrl-C leaves at
most a scratch database, which the next simulation drops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from treadle_metadata.connection import Database
from treadle_metadata.queries import simulation as queries
from treadle_metadata.queries.dags import no_such_dag
from treadle_metadata.settings import Settings
from treadle_metadata.simulation import tell_nobody
from treadle_metadata.statements import execute
from treadle_scheduler.simulation.definitions import Definitions
from treadle_scheduler.simulation.driver import Plan, Progress, Simulation
from treadle_scheduler.simulation.durations import Durations
from treadle_scheduler.simulation.errors import SimulationError
from treadle_scheduler.simulation.result import Result
from treadle_scheduler.simulation.scratch import scratch_database
from treadle_scheduler.simulation.session import Session

PAST: Final = timedelta(days=30)
"""How far back durations are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to simulate. Without ``dag_ids``: every DAG that is not paused, or, with ``with_paused``, every DAG."""

    begin: datetime
    end: datetime
    dag_ids: Sequence[str] = ()
    with_paused: bool = False
    durations: Durations = field(default_factory=Durations)
    percentile: float = 0.5
    """Which of the past durations of a task counts; 0.5 is their median."""
    resolution: float = 0.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was read of the installation: enough for any number of simulations."""

    definitions: Definitions
    plan: Plan
    left_out: Mapping[str, str]


def prepare(database: Database, request: Request, *, now: datetime) -> Prepared:
    """Read what ``request`` needs of the installation.

    Raises:
        SimulationError: the period is empty, or there is nothing to simulate.
        NotFoundError: a DAG that was named does not exist.
    """
    if request.end <= request.begin:
        raise SimulationError(
            f"the simulation ends at {request.end.isoformat()}, not after its beginning {request.begin.isoformat()}"
        )

    def act(connection: Connection) -> Prepared:
        execute(connection, "SET TRANSACTION READ ONLY")
        everything = Definitions(queries.definitions(connection))
        for dag_id in request.dag_ids:
            if dag_id not in everything.documents:
                raise no_such_dag(connection, dag_id)
        left_out = _left_out(everything, request)
        chosen = [one for one in request.dag_ids or everything.documents if one not in left_out]
        if not chosen:
            raise SimulationError(_nothing(left_out))
        definitions = everything.only(chosen)
        durations = _with_past(connection, definitions, request, now)
        plan = Plan(begin=request.begin, end=request.end, durations=durations, resolution=request.resolution)
        return Prepared(definitions, plan, left_out)

    return database.run(act)


def simulate_prepared(
    prepared: Prepared, settings: Settings, *, executor_slots: int | None, now: datetime, progress: Progress
) -> Result:
    """Play out what was prepared, with ``executor_slots`` instead of the installation's parallelism.

    Raises:
        SimulationError: it does not come to rest.
        PostgresError: there is no place for the scratch database.
    """
    if executor_slots is not None:
        settings = replace(settings, parallelism=executor_slots)
    with scratch_database(settings, begin=prepared.plan.begin, now=now) as url:
        session = Session(url)
        try:
            # Nobody looks at what changes there.
            session.run(tell_nobody)
            result = Simulation(session, settings, prepared.definitions, prepared.plan).run(progress)
        finally:
            session.close()
    return replace(result, left_out=dict(prepared.left_out))


def _left_out(definitions: Definitions, request: Request) -> dict[str, str]:
    left_out = {
        dag_id: "its timetable is a plug-in, which is not evaluated in virtual time"
        for dag_id, one in definitions.documents.items()
        if one.schedule.kind == "custom" and (not request.dag_ids or dag_id in request.dag_ids)
    }
    if not request.with_paused and not request.dag_ids:
        left_out |= dict.fromkeys(definitions.paused, "it is paused")
    return left_out


def _nothing(left_out: Mapping[str, str]) -> str:
    if not left_out:
        return "there is nothing to simulate: the installation has no DAG"
    first, reason = next(iter(left_out.items()))
    others = f", and {len(left_out) - 1} more are left out, too" if len(left_out) > 1 else ""
    return f"there is nothing to simulate: DAG {first!r} is left out, {reason}{others}; name DAGs, or add --with-paused"


def _with_past(connection: Connection, definitions: Definitions, request: Request, now: datetime) -> Durations:
    since = now - PAST
    past = queries.task_durations(connection, list(definitions.documents), since=since, percentile=request.percentile)
    wanted = [(*place, key) for place, keys in definitions.mapped_over().items() for key in sorted(keys)]
    lengths = queries.result_lengths(connection, wanted, since=since) if wanted else {}
    return replace(request.durations, past=past, lengths=lengths)
