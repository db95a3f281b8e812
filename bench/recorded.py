"""Reads what the checker judges: the rows of a database at rest, and the signs that tasks left in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Connection

from bench.checker import Attempt, Excuse, History, Instance, Limits, Move, Run, Sign
from treadle import document as documents
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows


def read(
    connection: Connection,
    signs: Path,
    settings: Settings,
    *,
    excuses: Sequence[Excuse] = (),
    overlap_seconds: float = 0.0,
) -> History:
    """Return the whole history; each line of ``signs`` is DAG, run, task, map index, try, pid, kind and time."""
    runs = [Run(*row.values()) for row in rows(connection, "SELECT id, dag_id, state, run_id FROM dag_run ORDER BY id")]
    instances = [
        Instance(**row)
        for row in rows(
            connection,
            """
            SELECT id, dag_run_id, dag_id, task_id, map_index, state, try_number, max_tries, pool, pool_slots
            FROM task_instance ORDER BY id
            """,
        )
    ]
    attempts = "SELECT attempt_id::text, task_instance_id, try_number, outcome FROM task_attempt"
    moves = """
        SELECT id, entity, entity_id, old_state, new_state, attempt_id::text FROM state_transition ORDER BY id
    """
    return History(
        runs=runs,
        instances=instances,
        attempts=[Attempt(*row.values()) for row in rows(connection, attempts)],
        moves=[Move(*row.values()) for row in rows(connection, moves)],
        limits=limits(connection, settings),
        signs=_signs(signs, runs, instances),
        excuses=excuses,
        overlap_seconds=overlap_seconds,
    )


def limits(connection: Connection, settings: Settings) -> Limits:
    """Return the limits that hold: of the settings, the pools, and each DAG's newest version."""
    newest = rows(
        connection,
        """
        SELECT dag_version.document, dag.max_active_runs
        FROM dag JOIN dag_version ON dag_version.id = dag.version_id
        """,
    )
    dags = [(documents.loads(row["document"]), row["max_active_runs"]) for row in newest]
    tasks = [((dag.dag_id, task.task_id), task) for dag, _ in dags for task in dag.tasks]
    return Limits(
        parallelism=settings.parallelism,
        pools={row["name"]: row["slots"] for row in rows(connection, "SELECT name, slots FROM slot_pool")},
        runs_of_dag={dag.dag_id: most or settings.max_active_runs_per_dag for dag, most in dags},
        tasks_of_run={dag.dag_id: dag.max_active_tasks or settings.max_active_tasks_per_dag for dag, _ in dags},
        instances_of_task={
            key: task.max_active_tis_per_dag for key, task in tasks if task.max_active_tis_per_dag is not None
        },
        instances_of_task_in_run={
            key: task.max_active_tis_per_dagrun for key, task in tasks if task.max_active_tis_per_dagrun is not None
        },
    )


def _signs(path: Path, runs: Sequence[Run], instances: Sequence[Instance]) -> list[Sign]:
    names = {run.id: (run.dag_id, run.run_id) for run in runs}
    ids = {(*names[one.dag_run_id], one.task_id, one.map_index): one.id for one in instances}
    found = []
    for line in path.read_text().splitlines():
        dag_id, run_id, task_id, index, number, pid, kind, at = line.split("|")
        found.append(Sign(ids[dag_id, run_id, task_id, int(index)], int(number), int(pid), kind, float(at)))
    return found
