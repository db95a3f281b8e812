"""What sensors wait for, and what people are asked: rows beside the instances that wait, partitioned like them.

Without foreign keys to the instances, and for the same reasons (``tables.tasks``). A wait goes when its instance is
cleared; a human step stays as evidence, withdrawn.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
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

sensor_wait = Table(
    "sensor_wait",
    metadata,
    Column("task_instance_id", BigInteger, nullable=False),
    Column("month", Date, nullable=False),
    # The attempt that noted it last: while that runs in mode poke, it waits in its slot.
    Column("attempt_id", Uuid, nullable=False),
    Column("mode", Text, nullable=False),
    # The start of the first attempt since the instance was made or cleared: the timeout counts from it.
    moment("began_at", required=True),
    moment("gives_up_at", required=True),
    Column("pokes", Integer, nullable=False),
    PrimaryKeyConstraint("task_instance_id", "month"),
    postgresql_partition_by="RANGE (month)",
)

human_step = Table(
    "human_step",
    metadata,
    Column("task_instance_id", BigInteger, nullable=False),
    Column("month", Date, nullable=False),
    Column("number", BigInteger, Identity(), nullable=False),
    # The try that asked. One that takes over from a lost one takes its question over, too.
    Column("try_number", Integer, nullable=False),
    Column("subject", Text, nullable=False),
    Column("body", Text),
    Column("options", JSONB, nullable=False),
    Column("defaults", JSONB),
    Column("multiple", Boolean, nullable=False),
    # The form: of each param its value, schema and description, as Airflow's clients show it.
    Column("params", JSONB, nullable=False),
    # Who may answer, as a list of {"id", "name"}; empty: whoever may act on the task.
    Column("assignees", JSONB, nullable=False),
    moment("asked_at", required=True),
    moment("due_at"),
    moment("answered_at"),
    Column("answered_by", Text),
    Column("chosen", JSONB),
    Column("given", JSONB),
    # Nobody answered in time: the defaults stand for an answer, if there are any.
    Column("timed_out", Boolean, nullable=False, server_default=text("false")),
    # The task was cleared, marked or ended: nobody needs an answer any more.
    moment("withdrawn_at"),
    PrimaryKeyConstraint("task_instance_id", "number", "month"),
    # One question at a time; its answer stays until the task is cleared.
    Index(
        "human_step_current",
        "task_instance_id",
        "month",
        unique=True,
        postgresql_where=text("withdrawn_at IS NULL"),
    ),
    Index(
        "human_step_open",
        "asked_at",
        "task_instance_id",
        postgresql_where=text("answered_at IS NULL AND withdrawn_at IS NULL"),
    ),
    Index("human_step_by_time", "asked_at", "task_instance_id"),
    postgresql_partition_by="RANGE (month)",
)
