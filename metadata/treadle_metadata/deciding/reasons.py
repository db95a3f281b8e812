"""Why something does not run: a code for machines, one sentence for people, and the object that stands in the way.

Made by ``limits`` and by the modules ``why_dag``, ``why_run`` and ``why_task`` beside it (specification section 19;
case H5). Codes are part of the REST API: they may be added to, never renamed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Reason(StrEnum):
    """The code of an explanation."""

    FINISHED = "finished"
    RUNNING = "running"
    NEXT_BEAT = "next_beat"
    """Nothing holds it: the scheduler takes it at its next beat."""

    PAUSED = "paused"
    DAG_GONE = "dag_gone"
    IMPORT_ERROR = "import_error"
    NO_SCHEDULER = "no_scheduler"
    NO_SCHEDULE = "no_schedule"
    BEFORE_START_DATE = "before_start_date"
    NOT_DUE = "not_due"
    END_DATE = "end_date"
    NO_MORE_RUNS = "no_more_runs"
    SCHEDULE_ERROR = "schedule_error"
    ASSETS = "assets"
    """It waits for updates of assets."""

    RUN_LIMIT = "run_limit"
    BACKFILL_PAUSED = "backfill_paused"
    OTHER_VERSION = "other_version"
    EVALUATION_ERROR = "evaluation_error"
    """The scheduler could not advance the run, and tries again later."""

    PAST_RUN = "past_run"
    TRIGGER_RULE = "trigger_rule"
    RETRY_DELAY = "retry_delay"
    RESCHEDULED = "rescheduled"
    DEFERRED = "deferred"
    NO_TRIGGERER = "no_triggerer"
    ANSWER = "answer"
    """It waits for a person to answer it."""

    PARALLELISM = "parallelism"
    POOL = "pool"
    SENSORS = "sensors"
    """Sensors that wait in mode poke hold all slots of its pool."""
    POOL_MISSING = "pool_missing"
    POOL_TOO_SMALL = "pool_too_small"
    DAG_CAP = "dag_cap"
    TASK_CAP = "task_cap"
    TASK_CAP_IN_RUN = "task_cap_in_run"
    PRIORITY = "priority"

    UNKNOWN_EXECUTOR = "unknown_executor"
    EXECUTOR_FULL = "executor_full"
    EXECUTOR_SILENT = "executor_silent"
    EXECUTOR_IN_TROUBLE = "executor_in_trouble"
    """Its broker cannot be reached, or no worker takes from the task's queue."""
    STARTING = "starting"
    """It is with its executor, which has room: its process is about to start."""


class Kind(StrEnum):
    """What sort of object stands in the way."""

    ASSET = "asset"
    DAG = "dag"
    DAG_FILE = "dag_file"
    DAG_RUN = "dag_run"
    DAG_VERSION = "dag_version"
    TASK_INSTANCE = "task_instance"
    BACKFILL = "backfill"
    POOL = "pool"
    EXECUTOR = "executor"
    SCHEDULER = "scheduler"
    SETTING = "setting"


@dataclass(frozen=True, slots=True)
class Blocker:
    """The object that stands in the way. Parts of an ``id`` are parted by slashes, as in the paths of the API."""

    kind: Kind
    id: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something does not run. ``until`` is when that ends by itself, where it is known."""

    reason: Reason
    sentence: str
    blocked_by: Blocker | None = None
    until: datetime | None = None


def instance_id(dag_id: str, run_id: str, task_id: str, map_index: int = -1) -> str:
    """Return the id of a task instance as a blocker has it."""
    parts = [dag_id, run_id, task_id, *([str(map_index)] if map_index >= 0 else [])]
    return "/".join(parts)
