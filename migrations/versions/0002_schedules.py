"""Schedules: since when a DAG is unpaused or held back, the times that became no run, the pace of late runs.

The statements lie beside this file, as SQL: they are what PostgreSQL runs, in one round trip.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the tables and columns."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop them with all they hold."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
