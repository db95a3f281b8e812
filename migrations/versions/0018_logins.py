"""A login is no change of rights: pages that are open need not be asked again what they may see."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Tell of an account's role and state, not of the time of its last login."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Tell of every change again."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
