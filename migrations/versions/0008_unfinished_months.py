"""Which months have runs that are not over, and which runs a DAG version has, without looking at the rest of them."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the indexes."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop them."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
