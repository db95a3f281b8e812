"""What is handed to an executor for one attempt: plain data, complete, so that the worker asks nothing to begin."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from treadle_metadata.deciding.graph import Graph
from treadle_metadata.transitions.queueing import Picked
from treadle_worker.protocol import CallbackFacts, Resume, RunFacts, Workload


def log_path(row: Mapping[str, Any], try_number: int) -> str:
    """Return where the log of an attempt of an instance lies, relative to the logs folder.

    All attempts of a try share it. The id of the instance keeps it apart from that of a run that was deleted, had the
    same run id, and has left its logs.
    """
    index = f"{row['map_index']}/" if row["map_index"] >= 0 else ""
    return f"{row['dag_id']}/{row['run_id']}/{row['task_id']}/{index}attempt={try_number}.{row['id']}.jsonl"


def workload(
    row: Mapping[str, Any],
    picked: Picked,
    graph: Graph,
    expand_index: list[int] | None = None,
    source: str | None = None,
    resume: Resume | None = None,
) -> Workload:
    """Return the workload of a picked instance; ``row`` joins the instance with its run.

    ``source`` is the text of its version if the DAG's file has another one by now; ``resume``, where it was deferred,
    what it goes on with.
    """
    task = graph.nodes[graph.index[row["task_id"]]].task
    made = Workload(
        attempt_id=str(picked.attempt_id),
        task_instance_id=row["id"],
        month=row["month"].isoformat(),
        dag_id=row["dag_id"],
        task_id=row["task_id"],
        map_index=row["map_index"],
        try_number=picked.try_number,
        max_tries=row["max_tries"],
        file=row["file"],
        file_hash=row["file_hash"],
        version=graph.version_hash,
        queue=row["queue"],
        pool=row["pool"],
        isolation=task.isolation,
        execution_timeout_seconds=task.execution_timeout_seconds,
        executor_config=task.executor_config,
        log_path=picked.log_path,
        run=_facts(row),
    )
    if expand_index is not None:
        made["expand_index"] = expand_index
    if task.transaction is not None:
        made["transaction"] = task.transaction
    if source is not None:
        made["source"] = source
    if resume is not None:
        made["resume"] = resume
    return made


def callback_workload(row: Mapping[str, Any], limit_seconds: float) -> Workload:
    """Return the workload of a callback; ``row`` joins it with its run and, if it is about one, its instance."""
    made = Workload(
        attempt_id=str(row["attempt_id"]),
        task_instance_id=row["task_instance_id"] or 0,
        month=row["month"].isoformat(),
        dag_id=row["dag_id"],
        task_id=row["task_id"] or "",
        map_index=-1 if row["map_index"] is None else row["map_index"],
        try_number=row["facts"].get("try_number") or row["try_number"] or 0,
        max_tries=row["max_tries"] or 0,
        file=row["file"],
        file_hash=row["file_hash"],
        version=row["version_hash"],
        queue=row["queue"] or "default",
        pool=row["pool"] or "default_pool",
        isolation="process",
        execution_timeout_seconds=limit_seconds,
        executor_config={},
        log_path=row["log_path"],
        run=_facts(row),
        callback=CallbackFacts(
            id=row["id"], event=row["event"], position=row["position"], facts=dict(row["facts"]), limit=limit_seconds
        ),
    )
    if row["source"] is not None:
        made["source"] = row["source"]
    return made


def _facts(row: Mapping[str, Any]) -> RunFacts:
    return RunFacts(
        run_id=row["run_id"],
        run_type=row["run_type"],
        logical_date=_iso(row["logical_date"]),
        data_interval_start=_iso(row["interval_start"]),
        data_interval_end=_iso(row["interval_end"]),
        run_after=row["run_after"].isoformat(),
        start_date=_iso(row["run_started_at"]),
        conf=row["conf"],
        triggered_by=row["triggered_by"],
        clear_number=row["clear_number"],
        partition_key=row["partition_key"],
        partition_date=_iso(row["partition_date"]),
    )


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
