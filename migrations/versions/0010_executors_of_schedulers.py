"""What executors a scheduler has, and what keeps them from starting attempts: told in its own row."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the column."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop it."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
