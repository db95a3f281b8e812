"""The tables of the metadata database, one module per concern; ``metadata`` holds them all."""

from treadle_metadata.tables.base import metadata
from treadle_metadata.tables.catalog import dag, dag_file, dag_version, dag_warning, import_error
from treadle_metadata.tables.operations import account, audit_log, process, state_transition
from treadle_metadata.tables.resources import connection, slot_pool, variable
from treadle_metadata.tables.runs import backfill, dag_run, run_wakeup
from treadle_metadata.tables.tasks import task_attempt, task_instance, xcom

PARTITIONED = (task_instance, task_attempt, xcom, audit_log)
"""Range-partitioned by month, so that retention is DROP PARTITION (design section 4)."""

__all__ = [
    "PARTITIONED",
    "account",
    "audit_log",
    "backfill",
    "connection",
    "dag",
    "dag_file",
    "dag_run",
    "dag_version",
    "dag_warning",
    "import_error",
    "metadata",
    "process",
    "run_wakeup",
    "slot_pool",
    "state_transition",
    "task_attempt",
    "task_instance",
    "variable",
    "xcom",
]
