"""Links of task instances: each attempt keeps where its operator's links led."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the column."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop it."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
