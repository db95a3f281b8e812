"""Rights: roles of one's own, teams with folders and members, grants of single DAGs; sessions and tokens kept here.

Tokens that name a version of their account are no more: whoever was logged in logs in again.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Make the tables, and give DAGs, pools, variables and connections their team."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text())


def downgrade() -> None:
    """Drop them; what belonged to a team and has its like beside it is lost."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".down.sql").read_text())
