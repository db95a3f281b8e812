"""What pages ask for: favourites, runs that ended or failed lately, and notifications of what changed."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Make the table, the indexes and the triggers."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop them."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
