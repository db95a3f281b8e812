"""What ``bench web --part ui`` looks at beside ``web_data``: DAGs with much of one thing each, and one long log.

Each is loaded only if it is not there, so that a folder that was loaded before gets what it lacks. Whole at any scale.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection

from bench import web_rows
from bench.documents import install
from bench.report import progress
from treadle.document import DagDocument, GroupDocument, TaskDocument
from treadle_metadata.connection import Database
from treadle_metadata.statements import execute, tuples

MINUTELY, MINUTELY_RUNS, MINUTELY_TASKS = "minutely", 50_000, 10
YEAR, YEAR_RUNS, YEAR_TASKS = "year", 365, 200
THOUSAND, THOUSAND_TASKS = "thousand", 1_000
GROUPS, GROUPS_COUNT, GROUP_TASKS = "groups", 120, 100
TALKER, LOG_LINES, RARE_LINE = "talker", 1_000_000, 512_345
RARE_WORDS: Final = "the needle in the haystack"


def load(database: Database, folder: Path, now: datetime) -> None:
    """Load what is missing. ``folder`` is the home, whose folder of logs gets the long one."""
    documents = (
        (_layered(MINUTELY, MINUTELY_TASKS, 5), MINUTELY_RUNS, timedelta(minutes=1)),
        (_layered(YEAR, YEAR_TASKS, 10), YEAR_RUNS, timedelta(days=1)),
        (_layered(THOUSAND, THOUSAND_TASKS, 40), 1, timedelta(days=1)),
        (_grouped(), 1, timedelta(days=1)),
        (DagDocument(TALKER, tasks=(TaskDocument("task_0", operator="PythonOperator"),)), 1, timedelta(days=1)),
    )
    with database.begin() as connection:
        known = {row[0] for row in tuples(connection, "SELECT dag_id FROM dag")}
    missing = [one for one in documents if one[0].dag_id not in known]
    for document, runs, spacing in missing:
        progress(f"loading {document.dag_id}: {runs} runs of {len(document.tasks)} tasks")
        with database.begin() as connection:
            _load_dag(connection, document, runs, spacing, now)
            if document.dag_id == TALKER:
                _load_log(connection, folder / "logs")
    if missing:
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("ANALYZE dag, dag_run, task_instance, task_attempt")


def _load_dag(connection: Connection, document: DagDocument, runs: int, spacing: timedelta, now: datetime) -> None:
    install(connection, document, now=now)
    web_rows.add_runs(connection, (document.dag_id,), runs, spacing, now)
    if not document.groups:
        web_rows.add_instances(connection, document.dag_id, len(document.tasks))


def _layered(dag_id: str, tasks: int, width: int) -> DagDocument:
    """Return a DAG in layers of ``width``: each task waits for the one above it and for a neighbour of that."""
    return DagDocument(
        dag_id,
        tasks=tuple(
            TaskDocument(f"task_{number}", operator="PythonOperator", upstream=_above(number, width))
            for number in range(tasks)
        ),
    )


def _above(number: int, width: int) -> tuple[str, ...]:
    layer, place = divmod(number, width)
    if layer == 0:
        return ()
    # Another neighbour in each layer, so that edges cross as they do where people join data.
    other = (place + 1 + layer * 7 % 5) % width
    return tuple(sorted({f"task_{(layer - 1) * width + one}" for one in (place, other)}))


def _grouped() -> DagDocument:
    """Return a DAG of 12,000 tasks in groups that follow one another in four lanes (case E5)."""
    tasks: list[TaskDocument] = []
    for group in range(GROUPS_COUNT):
        for place in range(GROUP_TASKS):
            above = _above(place, 10)
            upstream = tuple(f"group_{group}.{one}" for one in above)
            if not upstream and group >= 4:
                upstream = (f"group_{group - 4}.task_{GROUP_TASKS - 1}",)
            tasks.append(
                TaskDocument(
                    f"group_{group}.task_{place}",
                    operator="PythonOperator",
                    group_id=f"group_{group}",
                    upstream=upstream,
                )
            )
    return DagDocument(
        GROUPS, groups=tuple(GroupDocument(f"group_{group}") for group in range(GROUPS_COUNT)), tasks=tuple(tasks)
    )


def _load_log(connection: Connection, logs: Path) -> None:
    """Add the one attempt of the talking task, and its log as a worker would have written it."""
    path = "talker/attempt=1.jsonl"
    facts: dict[str, Any] = {"dag": TALKER, "path": path, "attempt": uuid.uuid4()}
    execute(
        connection,
        """
        INSERT INTO task_attempt (attempt_id, month, task_instance_id, try_number, version_id, executor,
                                  retry_delay_seconds, outcome, queued_at, started_at, ended_at, hostname, pid,
                                  exit_code, log_path)
        SELECT %(attempt)s, one.month, one.id, 1, run.version_id, 'local', 300, 'success', one.queued_at,
               one.started_at, one.ended_at, 'worker', 4711, 0, %(path)s
        FROM task_instance AS one JOIN dag_run AS run ON run.id = one.dag_run_id WHERE one.dag_id = %(dag)s
        """,
        facts,
    )
    execute(
        connection,
        "UPDATE task_instance SET state = 'success', try_number = 1, attempt_id = %(attempt)s WHERE dag_id = %(dag)s",
        facts,
    )
    file = logs / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lines:
        for number in range(LOG_LINES):
            words = RARE_WORDS if number == RARE_LINE else "rows were read, joined and written"
            level = "error" if number % 9_973 == 0 else "info"
            lines.write(
                f'{{"time":"2026-11-01T{number // 40_000:02}:{number // 700 % 60:02}:00.{number % 1000:03}Z",'
                f'"level":"{level}","source":"task","text":"part {number}: {words}"}}\n'
            )
