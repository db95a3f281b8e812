"""What schedules leave behind beside runs: times that became no run, and the pace of making up for missed ones."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Identity, Integer, Table, Text, UniqueConstraint

from treadle.timetables.planning import MissedReason
from treadle_metadata.tables.base import metadata, moment, one_of

missed_slot = Table(
    "missed_slot",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    moment("run_after", required=True),
    moment("logical_date", required=True),
    # A long row of times is one row: the first of them, the last of them, and how many; NULL if nobody counted.
    moment("last_run_after", required=True),
    Column("slots", Integer),
    Column("reason", Text, nullable=False),
    moment("noticed_at", required=True),
    UniqueConstraint("dag_id", "run_after"),
    one_of("reason", MissedReason, "reason_known"),
)

schedule_pace = Table(
    "schedule_pace",
    metadata,
    # One row: all schedulers together keep to the pace.
    Column("id", Integer, primary_key=True),
    moment("minute", required=True),
    # How many late runs were wanted in this minute; the first ones were made.
    Column("wanted", Integer, nullable=False),
    CheckConstraint("id = 1", name="one_row"),
)
