"""Through which aliases an event came, without looking at the events of all aliases."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Make the index."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop it."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
