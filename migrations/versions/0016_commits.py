"""One commit of a task's rows and its end: the function that a task's role may be granted; failed tries of steps."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Make the tables, the column and the function."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop them."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
