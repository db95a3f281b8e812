"""Runs of DAGs, the wake-ups that tell the scheduler which of them to look at, and backfills."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from treadle_metadata.states import RunState
from treadle_metadata.tables.base import metadata, moment, one_of

dag_run = Table(
    "dag_run",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_id", Text, ForeignKey("dag.dag_id"), nullable=False),
    Column("run_id", Text, nullable=False),
    Column("version_id", BigInteger, ForeignKey("dag_version.id"), nullable=False),
    # The month of the run's creation: the partition of all its task instances, attempts and XComs.
    Column("month", Date, nullable=False),
    Column("run_type", Text, nullable=False),
    Column("state", Text, nullable=False),
    moment("logical_date"),
    moment("interval_start"),
    moment("interval_end"),
    moment("run_after", required=True),
    moment("queued_at", required=True),
    moment("started_at"),
    moment("ended_at"),
    Column("conf", JSONB, nullable=False, server_default=text("'{}'")),
    Column("triggered_by", Text, nullable=False),
    Column("triggering_user", Text),
    Column("note", Text),
    Column("backfill_id", BigInteger, ForeignKey("backfill.id")),
    Column("clear_number", Integer, nullable=False, server_default=text("0")),
    # The scheduler that evaluated the run last: what another one remembers of it is out of date.
    Column("evaluated_by", Text),
    # The state that a running run is to end in, once the teardowns of what it had set up have run (case A40).
    Column("ending", Text),
    Column("ending_reason", Text),
    # Which part of the data the run is for, where its DAG is scheduled by partitions, and the date that it stands for.
    Column("partition_key", Text),
    moment("partition_date"),
    UniqueConstraint("dag_id", "run_id"),
    UniqueConstraint("dag_id", "logical_date"),
    one_of("state", RunState, "state_known"),
    CheckConstraint("ending IN ('success', 'failed')", name="ending_known"),
    CheckConstraint("(ended_at IS NOT NULL) = (state IN ('success', 'failed'))", name="ended_when_finished"),
    Index("dag_run_to_start", "dag_id", "run_after", "id", postgresql_where=text("state = 'queued'")),
    Index(
        "dag_run_to_fill",
        "dag_id",
        "backfill_id",
        "logical_date",
        postgresql_where=text("state = 'queued' AND backfill_id IS NOT NULL"),
    ),
    Index("dag_run_unfinished", "dag_id", "state", postgresql_where=text("state IN ('queued', 'running')")),
    # Tells the beat which partitions have something to do, however many there are.
    Index("dag_run_unfinished_months", "month", postgresql_where=text("state IN ('queued', 'running')")),
    # For the check of the foreign key when a version is deleted (case B9).
    Index("dag_run_of_version", "version_id"),
    Index("dag_run_unfinished_of_backfill", "backfill_id", postgresql_where=text("backfill_id IS NOT NULL")),
    Index("dag_run_newest_of_dag", "dag_id", text("run_after DESC"), text("id DESC")),
    Index("dag_run_of_partition", "dag_id", "partition_key", postgresql_where=text("partition_key IS NOT NULL")),
    # Lists over all DAGs, and the rare failed ones of a long history (case E14).
    Index("dag_run_newest", text("run_after DESC"), text("id DESC")),
    Index("dag_run_failed", text("run_after DESC"), text("id DESC"), postgresql_where=text("state = 'failed'")),
    # What ended lately, over all DAGs: the first page and the timeline.
    Index("dag_run_ended", text("ended_at DESC"), text("id DESC"), postgresql_where=text("ended_at IS NOT NULL")),
    Index(
        "dag_run_failed_of_dag",
        "dag_id",
        text("run_after DESC"),
        text("id DESC"),
        postgresql_where=text("state = 'failed'"),
    ),
    postgresql_with={"fillfactor": "80"},
)

run_wakeup = Table(
    "run_wakeup",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_run_id", BigInteger, nullable=False),
    moment("due_at", required=True),
    # The task instances that changed; NULL: anything may have, so all of the run is to be looked at.
    Column("changed", ARRAY(BigInteger)),
    Index("run_wakeup_due", "due_at", "dag_run_id"),
    Index("run_wakeup_of_run", "dag_run_id"),
)

backfill = Table(
    "backfill",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_id", Text, ForeignKey("dag.dag_id"), nullable=False),
    moment("from_date", required=True),
    moment("to_date", required=True),
    Column("conf", JSONB, nullable=False, server_default=text("'{}'")),
    Column("run_backwards", Boolean, nullable=False, server_default=text("false")),
    Column("reprocess_behavior", Text, nullable=False, server_default=text("'none'")),
    Column("max_active_runs", Integer, nullable=False),
    Column("is_paused", Boolean, nullable=False, server_default=text("false")),
    moment("created_at", required=True),
    moment("completed_at"),
    moment("cancelled_at"),
    Column("triggering_user", Text),
    CheckConstraint("reprocess_behavior IN ('none', 'failed', 'completed')", name="reprocess_known"),
    CheckConstraint("max_active_runs > 0", name="positive_limit"),
    Index("backfill_unfinished", "dag_id", unique=True, postgresql_where=text("completed_at IS NULL")),
)
