"""What people do to a running cluster: they clear, mark, pause, and change DAG files.

For the monkey, which draws the acts and counts them. Runs that a person may have ended are remembered before the
attempt: whether a transaction that broke was committed, nobody knows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from bench import chaos_dags
from bench.cluster import Cluster
from treadle_metadata import clearing, marking, pausing
from treadle_metadata.clearing import Selection

_INSTANCES = """
    SELECT run.dag_id, run.run_id, instance.task_id
    FROM task_instance AS instance JOIN dag_run AS run ON run.id = instance.dag_run_id
    WHERE instance.state IN ('success', 'failed', 'running', 'queued', 'deferred') ORDER BY instance.id DESC LIMIT 50
"""
_RUNS = """
    SELECT id, dag_id, run_id, state FROM dag_run
    WHERE state = ANY(%(states)s) AND dag_id LIKE %(dag_id)s ORDER BY id DESC LIMIT 30
"""
_OF_CHANGING = "SELECT id, dag_id, run_id FROM dag_run WHERE dag_id = 'changing' ORDER BY id DESC LIMIT 10"
_ANY = ["queued", "running", "success", "failed"]


class People:
    """Acts on one cluster; ``marked`` are the ids of the runs that they may have ended."""

    def __init__(self, cluster: Cluster, source: random.Random) -> None:
        self._cluster = cluster
        self._random = source
        self.marked: set[int] = set()
        self.acts: Mapping[Callable[[], bool], int] = {
            self.clear_task: 4,
            self.clear_run: 2,
            self.clear_latest: 2,
            self.mark_run: 8,
            self.change_dag: 2,
            self.pause: 2,
        }

    def clear_task(self) -> bool:
        """Clear a task instance, whatever its state; half of the time with what is below it."""
        one = self._one(_INSTANCES)
        return one is not None and self._clear(
            Selection(
                dag_id=one["dag_id"],
                run_id=one["run_id"],
                task_ids=(one["task_id"],),
                include_downstream=self._random.random() < 0.5,
            )
        )

    def clear_run(self) -> bool:
        """Clear a whole run."""
        one = self._one(_RUNS, states=_ANY, dag_id="%")
        return one is not None and self._clear(Selection(dag_id=one["dag_id"], run_id=one["run_id"]))

    def clear_latest(self) -> bool:
        """Clear a run of the DAG that changes, so that it moves to the newest version."""
        one = self._one(_OF_CHANGING)
        return one is not None and self._clear(Selection(dag_id=one["dag_id"], run_id=one["run_id"]), latest=True)

    def mark_run(self) -> bool:
        """End a run that is queued or running, often one with a teardown or deferred tasks, or an ended one."""
        states = _ANY if self._random.random() < 0.2 else ["queued", "running"]
        one = self._one(_RUNS, states=states, dag_id=self._random.choice(["%", "scoped", "deferred"]))
        if one is None:
            return False
        self.marked.add(one["id"])
        state = self._random.choice(["success", "failed"])
        self._cluster.database.run(
            lambda connection: marking.mark_run(connection, one["dag_id"], one["run_id"], state, now=datetime.now(UTC))
        )
        return True

    def change_dag(self) -> bool:
        """Store a version of the changing DAG with more or fewer tasks."""
        extra = self._random.randint(0, chaos_dags.MOST_EXTRA)
        self._cluster.store(chaos_dags.CHANGING, chaos_dags.changing(self._cluster.notes, extra))
        return True

    def pause(self) -> bool:
        """Unpause all DAGs, and pause one."""
        dags = [row["dag_id"] for row in self._cluster.select("SELECT dag_id FROM dag ORDER BY dag_id")]
        paused = self._random.choice(dags)
        with self._cluster.database.begin() as connection:
            pausing.set_paused(connection, dags, False, now=datetime.now(UTC))
            pausing.set_paused(connection, [paused], True, now=datetime.now(UTC))
        return True

    def _one(self, sql: str, **parameters: Any) -> Mapping[str, Any] | None:
        found = self._cluster.select(sql, **parameters)
        return self._random.choice(found) if found else None

    def _clear(self, selection: Selection, *, latest: bool = False) -> bool:
        plan = self._cluster.database.run(
            lambda connection: clearing.clear(connection, selection, latest=latest, now=datetime.now(UTC))
        )
        return bool(plan)
