"""The tables of the metadata database, one module per concern; ``metadata`` holds them all."""

from treadle_metadata.tables.accounts import (
    account,
    api_token,
    dag_grant,
    failed_login,
    login_session,
    role,
    team,
    team_folder,
    team_member,
)
from treadle_metadata.tables.assets import (
    asset,
    asset_alias,
    asset_alias_event,
    asset_event,
    asset_reference,
    asset_run_queue,
    dag_run_asset_event,
)
from treadle_metadata.tables.base import metadata
from treadle_metadata.tables.callbacks import callback, deadline
from treadle_metadata.tables.catalog import (
    dag,
    dag_code,
    dag_file,
    dag_version,
    dag_version_code,
    dag_warning,
    import_error,
)
from treadle_metadata.tables.durable import (
    commit_secret,
    durable_blob,
    durable_failure,
    durable_journal,
    durable_step,
    work_item,
)
from treadle_metadata.tables.favorites import dag_favorite
from treadle_metadata.tables.operations import audit_log, process, state_transition
from treadle_metadata.tables.resources import connection, slot_pool, variable
from treadle_metadata.tables.runs import backfill, dag_run, run_wakeup
from treadle_metadata.tables.schedules import missed_slot, schedule_pace
from treadle_metadata.tables.tasks import task_attempt, task_instance, xcom
from treadle_metadata.tables.triggers import deferral, trigger, trigger_asset, triggerer
from treadle_metadata.tables.waits import human_step, sensor_wait

PARTITIONED = (
    task_instance,
    task_attempt,
    xcom,
    audit_log,
    durable_journal,
    durable_step,
    durable_blob,
    durable_failure,
    sensor_wait,
    human_step,
)
"""Range-partitioned by month, so that retention is DROP PARTITION (design section 4)."""

__all__ = [
    "PARTITIONED",
    "account",
    "api_token",
    "asset",
    "asset_alias",
    "asset_alias_event",
    "asset_event",
    "asset_reference",
    "asset_run_queue",
    "audit_log",
    "backfill",
    "callback",
    "commit_secret",
    "connection",
    "dag",
    "dag_code",
    "dag_favorite",
    "dag_file",
    "dag_grant",
    "dag_run",
    "dag_run_asset_event",
    "dag_version",
    "dag_version_code",
    "dag_warning",
    "deadline",
    "deferral",
    "durable_blob",
    "durable_failure",
    "durable_journal",
    "durable_step",
    "failed_login",
    "human_step",
    "import_error",
    "login_session",
    "metadata",
    "missed_slot",
    "process",
    "role",
    "run_wakeup",
    "schedule_pace",
    "sensor_wait",
    "slot_pool",
    "state_transition",
    "task_attempt",
    "task_instance",
    "team",
    "team_folder",
    "team_member",
    "trigger",
    "trigger_asset",
    "triggerer",
    "variable",
    "work_item",
    "xcom",
]
