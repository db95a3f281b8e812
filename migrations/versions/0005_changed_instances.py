"""Wake-ups that name what changed, and who evaluated a run last: a beat looks only at what a change can affect."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns, and the index of instances that wait to be tried again."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Take them away."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
