"""Callbacks of runs and of attempts that could not tell their end, and the deadlines of runs.

``dag_version`` is rewritten for two generated columns; it is small. ``task_attempt`` gets a nullable column.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables and columns."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop the tables and columns with all they hold."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
