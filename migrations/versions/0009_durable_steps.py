"""Journals of durable steps, partitioned for the months that there are; the queue of the transactional executor."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the tables."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop them."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
