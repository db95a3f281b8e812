"""Assets, their events and their consumers; the partition that a run is for.

Only new tables and nullable columns: nothing is rewritten, and an older scheduler goes on beside it.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop the tables with all they hold."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
