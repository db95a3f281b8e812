"""Journals of durable steps, kept beside their instances whatever the attempt, and the transactional executor's queue.

Journals are partitioned by the run's month like the instances, without foreign keys to them, and for the same reasons.
One that was discarded (its task was cleared) stays as evidence until its run is forgotten.
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
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)

from treadle_metadata.tables.base import metadata, moment

durable_journal = Table(
    "durable_journal",
    metadata,
    # Random: the idempotency keys of its steps are made from it, so those of the next journal are others.
    Column("id", Uuid, nullable=False),
    Column("month", Date, nullable=False),
    Column("task_instance_id", BigInteger, nullable=False),
    # The code that recorded the steps, and the code that was refused because it is another.
    Column("plan", Text, nullable=False),
    Column("refused_plan", Text),
    moment("opened_at", required=True),
    moment("discarded_at"),
    PrimaryKeyConstraint("task_instance_id", "id", "month"),
    Index(
        "durable_journal_open",
        "task_instance_id",
        "month",
        unique=True,
        postgresql_where=text("discarded_at IS NULL"),
    ),
    postgresql_partition_by="RANGE (month)",
)

durable_step = Table(
    "durable_step",
    metadata,
    Column("task_instance_id", BigInteger, nullable=False),
    Column("journal_id", Uuid, nullable=False),
    Column("name", Text, nullable=False),
    Column("inputs", Text, nullable=False),
    Column("month", Date, nullable=False),
    Column("number", BigInteger, Identity(), nullable=False),
    # step, sleep or awakeable: the last two are there before they are over.
    Column("kind", Text, nullable=False),
    # Typed JSON text, as XComs have it; replayed byte for byte. Large ones are in durable_blob, under their SHA-256.
    Column("value", Text),
    Column("blob", Text),
    # Whoever holds the token may post the value of an awakeable, once: found by its hash, kept encrypted for replays.
    Column("token_hash", Text),
    Column("token", Text),
    moment("due_at"),
    moment("begun_at", required=True),
    # When its value was recorded; empty while a sleep or an awakeable waits.
    moment("done_at"),
    PrimaryKeyConstraint("task_instance_id", "journal_id", "name", "inputs", "month"),
    Index("durable_step_of_token", "token_hash", postgresql_where=text("token_hash IS NOT NULL")),
    postgresql_partition_by="RANGE (month)",
)

durable_blob = Table(
    "durable_blob",
    metadata,
    Column("task_instance_id", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    Column("month", Date, nullable=False),
    Column("content", Text, nullable=False),
    PrimaryKeyConstraint("task_instance_id", "hash", "month"),
    postgresql_partition_by="RANGE (month)",
)

durable_failure = Table(
    "durable_failure",
    metadata,
    Column("task_instance_id", BigInteger, nullable=False),
    Column("journal_id", Uuid, nullable=False),
    Column("month", Date, nullable=False),
    Column("number", BigInteger, Identity(), nullable=False),
    Column("name", Text, nullable=False),
    Column("inputs", Text, nullable=False),
    # In which attempt, and which of its tries of the step failed, from 1 on.
    Column("attempt_id", Uuid, nullable=False),
    Column("try", Integer, nullable=False),
    Column("error_type", Text, nullable=False),
    Column("message", Text, nullable=False),
    # After how long it was tried again; empty where the failure stood.
    Column("wait_seconds", Float),
    moment("failed_at", required=True),
    PrimaryKeyConstraint("task_instance_id", "journal_id", "number", "month"),
    postgresql_partition_by="RANGE (month)",
)
"""Tries of steps that failed."""

commit_secret = Table("commit_secret", metadata, Column("secret", Text, primary_key=True))
"""One row: what the proofs are made of by which ``treadle_commit`` knows that an attempt calls for itself."""

work_item = Table(
    "work_item",
    metadata,
    Column("attempt_id", Uuid, primary_key=True),
    # The order in which workers take.
    Column("number", BigInteger, Identity(), nullable=False),
    Column("task_instance_id", BigInteger, nullable=False),
    Column("month", Date, nullable=False),
    Column("queue", Text, nullable=False),
    Column("is_callback", Boolean, nullable=False),
    Column("workload", Text, nullable=False),
    Index("work_item_to_take", "queue", "is_callback", "number"),
)
"""Attempts that the transactional executor has queued and no worker has taken: the row goes with the worker."""
