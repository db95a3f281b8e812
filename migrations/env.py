"""Alembic's environment: how a migration meets the database.

Run by ``treadle_metadata.alembic_runs``, which hands over a connection, and by the ``alembic`` command in a checkout,
which takes the database of the settings. All migrations of one call are one transaction: a crash leaves the old schema.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from treadle_metadata import migration, settings
from treadle_metadata.connection import Database
from treadle_metadata.partitions import is_partition
from treadle_metadata.rights import scoped_views
from treadle_metadata.tables import metadata


def is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Hide partitions from Alembic: they come and go by the month and follow their parent's shape."""
    return not (kind == "table" and name is not None and is_partition(name))


def run(connection: Connection) -> None:
    """Run what Alembic was called for on ``connection``."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_name=is_ours,
        compare_server_default=True,
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        # They hang on the tables' columns, and belong to the newest schema.
        scoped_views.remove(connection)
        context.run_migrations()
        if migration.current(connection) == migration.head():
            scoped_views.install(connection)


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    database = Database(settings.load().database_url)
    with database.begin() as opened:
        run(opened)
    database.close()
