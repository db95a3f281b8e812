"""A trigger bears in how many deaths of loops its code ran, and why its watcher fails: faults are told one by one."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add what a trigger is suspected of, and what its trouble is."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Forget it."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
