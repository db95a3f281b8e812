"""Callbacks that the server has run for users, and the deadlines of runs.

Both belong to a run and go with it. A callback's row is written in the transaction of the event that it tells of, so
neither is there without the other, whatever is killed when.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from treadle_metadata.states import CallbackEvent, CallbackState
from treadle_metadata.tables.base import metadata, moment, one_of

callback = Table(
    "callback",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_run_id", BigInteger, ForeignKey("dag_run.id", ondelete="CASCADE"), nullable=False),
    Column("event", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=text("'pending'")),
    # Whose code it is: the version that the run had when the event happened.
    Column("version_id", BigInteger, nullable=False),
    # The instance that it is about; of a run's end the one that ended last, of a deadline none.
    Column("task_instance_id", BigInteger),
    # Of a deadline: which of the DAG's alerts.
    Column("position", Integer),
    # What the event was like when it happened: state, reason, try, error, deadline.
    Column("facts", JSONB, nullable=False, server_default=text("'{}'")),
    # The executor that it names; NULL is the installation's default.
    Column("executor", Text),
    # The fencing token, fresh with each hand-over; what it started may start, once.
    Column("attempt_id", Uuid),
    moment("lease_until"),
    moment("created_at", required=True),
    moment("started_at"),
    moment("ended_at"),
    Column("hostname", Text),
    Column("error", JSONB),
    Column("log_path", Text),
    one_of("state", CallbackState, "state_known"),
    one_of("event", CallbackEvent, "event_known"),
    Index("callback_to_hand_over", "id", postgresql_where=text("state = 'pending'")),
    Index("callback_under_way", "attempt_id", postgresql_where=text("state IN ('queued', 'running')")),
    Index("callback_of_run", "dag_run_id"),
)

deadline = Table(
    "deadline",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_run_id", BigInteger, ForeignKey("dag_run.id", ondelete="CASCADE"), nullable=False),
    # A run that is cleared begins anew: its deadlines of then and now are different ones.
    Column("clear_number", Integer, nullable=False),
    # Which of the DAG's alerts, counted from 0.
    Column("position", Integer, nullable=False),
    Column("name", Text),
    Column("reference", Text, nullable=False),
    # The moment that the deadline counts from, and the deadline itself.
    moment("base_at", required=True),
    moment("due_at", required=True),
    # When a scheduler saw that it was missed. Deadlines that are kept are removed at the end of the run.
    moment("missed_at"),
    UniqueConstraint("dag_run_id", "clear_number", "position"),
    Index("deadline_to_fire", "due_at", postgresql_where=text("missed_at IS NULL")),
)
