"""The first tables, and the pool that tasks use when they name none.

The statements lie beside this file, as SQL: they are what PostgreSQL runs, in one round trip.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop the tables with all they hold."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
