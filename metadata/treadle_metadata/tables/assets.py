"""Assets, the events that tell of their updates, who produces and consumes them, and what consumers still wait for.

An event is inserted in the transaction that finishes its task, together with one row of ``asset_run_queue`` for each
consumer. Those who emit only insert: no row is shared between two producers. The scheduler takes the queue's rows away
when it makes a run of them, and leaves one row of ``dag_run_asset_event`` each, whose key says that an event is in
one run of a consumer and never in two (cases A42 to A44).
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from treadle_metadata.tables.base import metadata, moment

asset = Table(
    "asset",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("uri", Text, nullable=False),
    Column("group_name", Text, nullable=False, server_default=text("'asset'")),
    Column("extra", JSONB, nullable=False, server_default=text("'{}'")),
    moment("created_at", required=True),
    moment("updated_at", required=True),
    Index("asset_of_uri", "uri"),
)

asset_alias = Table(
    "asset_alias",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("group_name", Text, nullable=False, server_default=text("'asset'")),
    moment("created_at", required=True),
)

# No foreign keys: they would lock the asset's row for each event (decision 4).
asset_event = Table(
    "asset_event",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("asset_id", BigInteger, nullable=False),
    Column("extra", JSONB, nullable=False, server_default=text("'{}'")),
    Column("partition_key", Text),
    Column("source_dag_id", Text),
    Column("source_task_id", Text),
    Column("source_run_id", Text),
    Column("source_map_index", Integer),
    moment("happened_at", required=True),
    Index("asset_event_newest_of_asset", "asset_id", text("id DESC")),
    Index("asset_event_of_source", "source_dag_id", "source_run_id"),
)

asset_alias_event = Table(
    "asset_alias_event",
    metadata,
    Column("alias_name", Text, nullable=False),
    Column("event_id", BigInteger, nullable=False),
    PrimaryKeyConstraint("alias_name", "event_id"),
    # What a task is told of an event names its aliases, however many events these have had.
    Index("asset_alias_event_of_event", "event_id"),
)

# What a DAG document names: ``role`` is schedule, outlet or inlet; ``kind`` is asset, uri or alias, and says what
# ``name`` is. Written by the DAG processor with the DAG; a schedule's rows tell where events go.
asset_reference = Table(
    "asset_reference",
    metadata,
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    Column("role", Text, nullable=False),
    Column("task_id", Text, nullable=False, server_default=text("''")),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    moment("created_at", required=True),
    PrimaryKeyConstraint("dag_id", "role", "task_id", "kind", "name"),
    Index("asset_reference_of_name", "kind", "name", "role"),
)

# One row for each consumer, part of its condition, and event: inserted by whoever emits, marked and deleted by the
# scheduler alone. ``target_key`` is the consumer's partition, where it has any.
asset_run_queue = Table(
    "asset_run_queue",
    metadata,
    Column("dag_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("target_key", Text, nullable=False, server_default=text("''")),
    Column("event_id", BigInteger, nullable=False),
    # No scheduler has looked at it: what makes a consumer due, so that one that waits for more costs nothing.
    Column("is_new", Boolean, nullable=False, server_default=text("true")),
    PrimaryKeyConstraint("dag_id", "kind", "name", "target_key", "event_id"),
    Index("asset_run_queue_new", "dag_id", "event_id", postgresql_where=text("is_new")),
    Index("asset_run_queue_of_key", "dag_id", "target_key", postgresql_where=text("target_key <> ''")),
)

dag_run_asset_event = Table(
    "dag_run_asset_event",
    metadata,
    Column("dag_id", Text, nullable=False),
    Column("event_id", BigInteger, nullable=False),
    Column("partition_key", Text, nullable=False, server_default=text("''")),
    Column("dag_run_id", BigInteger, ForeignKey("dag_run.id", ondelete="CASCADE"), nullable=False),
    PrimaryKeyConstraint("dag_id", "event_id", "partition_key"),
    Index("dag_run_asset_event_of_run", "dag_run_id", "event_id"),
    Index("dag_run_asset_event_of_event", "event_id"),
)
