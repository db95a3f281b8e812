"""New events of a consumer are found the oldest first, however many wait."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Put the events' order into the index."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Take it out again."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
