"""The calls of Alembic, for ``treadle_metadata.migration``, which imports this module only when it has to migrate.

Each runs on the caller's connection, within the caller's transaction.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection

from treadle_metadata.partitions import is_partition
from treadle_metadata.tables import metadata


def upgrade(connection: Connection, folder: Path, revision: str) -> None:
    """Apply the migrations up to ``revision``."""
    command.upgrade(_config(connection, folder), revision)


def downgrade(connection: Connection, folder: Path, revision: str) -> None:
    """Undo the migrations down to ``revision``."""
    command.downgrade(_config(connection, folder), revision)


def differences(connection: Connection) -> list[Any]:
    """Return Alembic's list of differences between the database and the tables of this version."""
    options = {
        "compare_server_default": True,
        "include_name": lambda name, kind, _: not (kind == "table" and is_partition(name)),
    }
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def _config(connection: Connection, folder: Path) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    return config
