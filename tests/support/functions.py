"""Real task code under the test's own scheduler: attempts run in this process, against what the database holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from treadle import DAG
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.run_task import Limits, attempt_here
from treadle.runtime.supervisor import XComFound, XComQuestion
from treadle_metadata.connection import Database
from treadle_metadata.statements import rows
from treadle_metadata.xcom_answers import found_xcoms


class StoredXComs(LocalSupervisor):
    """A supervisor that answers questions for XComs from the database, as a scheduler's process does."""

    def __init__(self, database: Database, dag_id: str, run_id: str) -> None:
        super().__init__({}, {})
        self._database = database
        self._run = {"dag_id": dag_id, "run_id": run_id}

    def get_xcoms(self, questions: Sequence[XComQuestion]) -> list[list[XComFound]]:
        """Return what was found for each question."""
        items = json.loads(json.dumps([asdict(one) for one in questions]))  # as they come over a socket
        with self._database.begin() as connection:
            sql = "SELECT * FROM dag_run WHERE dag_id = %(dag_id)s AND run_id = %(run_id)s"
            (run,) = rows(connection, sql, self._run)
            return [[XComFound(**one) for one in found_xcoms(connection, run, item)] for item in items]


class Functions:
    """An outcome of attempts: what the code of ``dag``'s tasks does."""

    def __init__(self, database: Database, dag: DAG) -> None:
        self._database = database
        self.dag = dag

    def __call__(self, workload: Mapping[str, Any]) -> dict[str, Any]:
        """Run one attempt and return its report."""
        supervisor = StoredXComs(self._database, workload["dag_id"], workload["run"]["run_id"])
        with supervisor.given():
            ended = attempt_here(self.dag, workload["task_id"], workload, supervisor, Limits())
        report = {"outcome": ended.outcome, "error": ended.error, "xcoms": ended.xcoms}
        return report | {"rendered_map_index": ended.rendered_map_index}
