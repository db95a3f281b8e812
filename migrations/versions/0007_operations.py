"""What operations on runs need: every text of every DAG version, the end that a run is going to, backfills behind.

The statements lie beside this file, as SQL: they are what PostgreSQL runs, in one round trip.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Keep texts by their hash, and add the columns."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Put the newest text of each version back into its row, and drop what was added."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
