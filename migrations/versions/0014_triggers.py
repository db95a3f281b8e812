"""Triggers and who runs them, the waits of deferred tasks, and the place that these keep in the queue."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Make them."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop them."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
