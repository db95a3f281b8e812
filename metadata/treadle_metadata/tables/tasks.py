"""Task instances, their attempts and their XComs: the three big tables, partitioned by the run's month.

They have no foreign keys to ``dag_run``: a foreign key would take a lock on the run's row for each insert, and
retention drops whole partitions.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    Float,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from treadle_metadata.states import FINISHED, TaskState
from treadle_metadata.tables.base import metadata, moment, one_of

_FINISHED = ", ".join(f"'{state}'" for state in sorted(FINISHED))

task_instance = Table(
    "task_instance",
    metadata,
    Column("id", BigInteger, Identity(), nullable=False),
    Column("month", Date, nullable=False),
    Column("dag_run_id", BigInteger, nullable=False),
    Column("dag_id", Text, nullable=False),
    Column("task_id", Text, nullable=False),
    Column("map_index", Integer, nullable=False, server_default=text("-1")),
    Column("state", Text, nullable=False, server_default=text("'none'")),
    # The number of the newest attempt: 0 before the first dispatch, then 1, 2, ...
    Column("try_number", Integer, nullable=False, server_default=text("0")),
    Column("max_tries", Integer, nullable=False, server_default=text("0")),
    Column("operator", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("pool_slots", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("executor", Text),
    Column("priority_weight", Integer, nullable=False),
    # The fencing token: every report of a worker names it, any older one is refused.
    Column("attempt_id", Uuid),
    moment("lease_until"),
    moment("scheduled_at"),
    moment("queued_at"),
    moment("started_at"),
    moment("ended_at"),
    moment("next_retry_at"),
    Column("hostname", Text),
    Column("pid", Integer),
    Column("rendered_map_index", Text),
    Column("note", Text),
    # Why the scheduler passed this instance over, while it is 'scheduled' ("why is it not running?").
    Column("waiting_for", Text),
    # Work of a backfill comes after all live work of its pool, whatever its weight (case H15).
    Column("is_backfill", Boolean, nullable=False, server_default=text("false")),
    # It was deferred, and goes on with what its trigger brought (table deferral).
    Column("resumes", Boolean, nullable=False, server_default=text("false")),
    PrimaryKeyConstraint("id", "month"),
    UniqueConstraint("dag_run_id", "task_id", "map_index", "month"),
    one_of("state", TaskState, "state_known"),
    CheckConstraint(f"ended_at IS NOT NULL OR state NOT IN ({_FINISHED})", name="ended_when_finished"),
    Index(
        "task_instance_to_queue",
        "pool",
        "is_backfill",
        text("priority_weight DESC"),
        "dag_id",
        "dag_run_id",
        "id",
        postgresql_where=text("state = 'scheduled'"),
    ),
    # What was deferred keeps its place: it comes before new starts of equal weight.
    Index(
        "task_instance_to_resume",
        "pool",
        "is_backfill",
        text("priority_weight DESC"),
        "id",
        postgresql_where=text("state = 'scheduled' AND resumes"),
    ),
    Index(
        "task_instance_to_retry",
        "dag_run_id",
        "next_retry_at",
        postgresql_where=text("state IN ('up_for_retry', 'up_for_reschedule')"),
    ),
    Index(
        "task_instance_active",
        "dag_id",
        "task_id",
        postgresql_where=text("state IN ('queued', 'running', 'restarting', 'deferred')"),
    ),
    postgresql_partition_by="RANGE (month)",
)

task_attempt = Table(
    "task_attempt",
    metadata,
    Column("attempt_id", Uuid, nullable=False),
    Column("month", Date, nullable=False),
    Column("task_instance_id", BigInteger, nullable=False),
    Column("try_number", Integer, nullable=False),
    Column("version_id", BigInteger, nullable=False),
    Column("executor", Text, nullable=False),
    # How long to wait before the next attempt if this one fails; known at dispatch, so that whoever finds a lost
    # attempt needs no DAG document to charge it.
    Column("retry_delay_seconds", Float, nullable=False),
    Column("outcome", Text),
    moment("queued_at", required=True),
    moment("started_at"),
    moment("ended_at"),
    Column("hostname", Text),
    Column("pid", Integer),
    Column("exit_code", Integer),
    Column("signal", Integer),
    Column("peak_rss_bytes", BigInteger),
    Column("cpu_seconds", Float),
    Column("log_path", Text, nullable=False),
    # When the callbacks of its end were taken on, by its own process or by the server: once, whoever is first.
    moment("called_back_at"),
    Column("error", JSONB),
    Column("rendered_fields", JSONB),
    # The text of the DAG file that it ran (dag_code): which code an attempt ran can be told for ever.
    Column("code_hash", Text),
    # What the attempt came to, as JSON, committed with its own rows (treadle_commit) until its report is recorded.
    Column("committed", Text),
    # Where the task's links lead, by their names: what the attempt did elsewhere.
    Column("links", JSONB),
    PrimaryKeyConstraint("attempt_id", "month"),
    Index("task_attempt_of_instance", "task_instance_id", "try_number"),
    postgresql_partition_by="RANGE (month)",
)

xcom = Table(
    "xcom",
    metadata,
    Column("task_instance_id", BigInteger, nullable=False),
    Column("key", Text, nullable=False),
    Column("month", Date, nullable=False),
    # Text, not jsonb: jsonb refuses \u0000 and rewrites numbers; a value must come back as it was pushed.
    Column("value", Text, nullable=False),
    # How many items a list or dict has: what a mapped task needs to know to be expanded, without reading the value.
    Column("length", Integer),
    moment("created_at", required=True),
    PrimaryKeyConstraint("task_instance_id", "key", "month"),
    postgresql_partition_by="RANGE (month)",
)
