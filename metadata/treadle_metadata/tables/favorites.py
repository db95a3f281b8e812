"""What people mark for themselves."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, PrimaryKeyConstraint, Table, Text

from treadle_metadata.tables.base import metadata, moment

dag_favorite = Table(
    "dag_favorite",
    metadata,
    Column("username", Text, ForeignKey("account.username", ondelete="CASCADE"), nullable=False),
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    moment("marked_at", required=True),
    PrimaryKeyConstraint("username", "dag_id"),
    Index("dag_favorite_of_dag", "dag_id"),
)
