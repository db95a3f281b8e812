"""Turns and order: DAGs take turns in the index that admission walks; a DAG says whether its tasks wait for the past.

The index holds scheduled instances only, so it is built in a moment; the new column is filled from the DAGs' documents.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Order the index by DAG within a priority weight; add the column and the index of queued backfill runs."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Make the former index; drop the column and the index of queued backfill runs."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
