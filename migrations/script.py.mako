"""${message}."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "${up_revision}"
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """What changes."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """The way back."""
    ${downgrades if downgrades else "pass"}
