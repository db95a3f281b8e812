"""Failed logins are counted for all web servers together."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Make the table."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop it."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
