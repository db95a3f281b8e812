"""What running the service needs: daemons' leases, the audit log and the history of moves."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from treadle_metadata.tables.base import metadata, moment

process = Table(
    "process",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("hostname", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    moment("started_at", required=True),
    moment("heartbeat_at", required=True),
    moment("lease_until", required=True),
    moment("stopped_at"),
    # Of a scheduler: the names of its executors, each with what keeps attempts from being started just now.
    Column("executors", JSONB),
    Index("process_newest_of_kind", "kind", text("heartbeat_at DESC")),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", BigInteger, Identity(), nullable=False),
    Column("month", Date, nullable=False),
    moment("happened_at", required=True),
    Column("actor", Text, nullable=False),
    Column("event", Text, nullable=False),
    Column("dag_id", Text),
    Column("run_id", Text),
    Column("task_id", Text),
    Column("map_index", Integer),
    Column("detail", JSONB, nullable=False, server_default=text("'{}'")),
    PrimaryKeyConstraint("id", "month"),
    Index("audit_log_of_dag", "dag_id", text("id DESC")),
    postgresql_partition_by="RANGE (month)",
)

state_transition = Table(
    "state_transition",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("entity", Text, nullable=False),
    Column("entity_id", BigInteger, nullable=False),
    Column("old_state", Text, nullable=False),
    Column("new_state", Text, nullable=False),
    Column("attempt_id", Uuid),
    moment("moved_at", required=True),
    Index("state_transition_of_entity", "entity", "entity_id", "id"),
)
