"""What deferred tasks wait for, who runs it, and what they go on with.

``trigger`` is what triggerers share; a row goes with its last event, or once it has been cancelled. ``deferral`` is the
wait of one task instance, which goes when its try is over. Arguments and events are encrypted. Neither has a foreign
key to the big tables, which lose whole partitions.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Float,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from treadle_metadata.tables.base import metadata, moment

triggerer = Table(
    "triggerer",
    metadata,
    # Its row of ``process`` has its lease.
    Column("process_id", Uuid, primary_key=True),
    Column("capacity", Integer, nullable=False),
    # The weight of what it runs, as it said last.
    Column("held", Integer, nullable=False, server_default=text("0")),
    # What it said of its loop last: a trigger that blocks it, and which one.
    Column("trouble", Text),
    Column("trouble_of", BigInteger),
)

trigger = Table(
    "trigger",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("classpath", Text, nullable=False),
    Column("kwargs", Text, nullable=False),
    Column("weight", Integer, nullable=False, server_default=text("1")),
    # Whose DAG file defines its class, if that is no installed module's.
    Column("version_id", BigInteger),
    # The attempt that waits, which fences its events: none of attempt n reaches attempt n + 1.
    Column("task_instance_id", BigInteger),
    Column("month", Date),
    Column("attempt_id", Uuid),
    # Of a watcher: what it shares with others that poll the same.
    Column("shared_key", Text),
    moment("created_at", required=True),
    # The process that runs it; nobody's as soon as that one's lease is over.
    Column("owner", Uuid),
    # Nobody waits any more: its owner calls on_cancel, unless ``cancelled_for`` says that it may go on.
    moment("cancelled_at"),
    Column("cancelled_for", Text),
    # In how many deaths of loops its code ran: a share of each, if that of others did, too; and how the last one died.
    Column("suspicion", Float, nullable=False, server_default=text("0")),
    Column("death", Text),
    # Of a watcher: why it fails and begins anew, as long as it does.
    Column("trouble", Text),
    Index("trigger_free", "id", postgresql_where=text("owner IS NULL")),
    Index("trigger_of_owner", "owner", postgresql_where=text("owner IS NOT NULL")),
    Index("trigger_cancelled", "owner", postgresql_where=text("cancelled_at IS NOT NULL")),
    Index("trigger_in_trouble", "id", postgresql_where=text("trouble IS NOT NULL")),
    Index("trigger_of_instance", "task_instance_id", postgresql_where=text("task_instance_id IS NOT NULL")),
    Index("trigger_of_watchers", "shared_key", unique=True, postgresql_where=text("shared_key IS NOT NULL")),
)

trigger_asset = Table(
    "trigger_asset",
    metadata,
    Column("trigger_id", BigInteger, primary_key=True),
    Column("asset_id", BigInteger, primary_key=True),
    # Whose file says so.
    Column("dag_id", Text, primary_key=True),
    Column("watcher", Text, primary_key=True),
    Index("trigger_asset_of_dag", "dag_id"),
)
"""Which assets a watcher's events become events of."""

deferral = Table(
    "deferral",
    metadata,
    Column("task_instance_id", BigInteger, primary_key=True, autoincrement=False),
    Column("month", Date, nullable=False),
    Column("trigger_id", BigInteger, nullable=False),
    Column("next_method", Text, nullable=False),
    Column("next_kwargs", Text, nullable=False),
    # When the try began: execution timeouts span deferrals.
    moment("first_started_at"),
    moment("due_at"),
    # Which limit is over then, and how long it is.
    Column("due_kind", Text),
    Column("limit_seconds", Float),
    # A trigger that ends the task leaves the rest to a worker: callbacks, events of assets.
    Column("ends_in_worker", Boolean, nullable=False, server_default=text("false")),
    moment("fired_at"),
    Column("event", Text),
    Column("error", JSONB),
    Index("deferral_due", "due_at", postgresql_where=text("fired_at IS NULL AND due_at IS NOT NULL")),
)
