"""The schema's version: which one the database has, which one this Treadle needs, and the way between.

``treadle db migrate`` and ``treadle standalone`` migrate; every daemon calls ``require_current`` before it begins. All
migrations of one call are one transaction, and one process migrates at a time. Alembic is imported only to migrate: a
daemon's check must not pay for it.
"""

from __future__ import annotations

import importlib
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.connection import Database
from treadle_metadata.errors import MetadataError
from treadle_metadata.partitions import ensure_ahead
from treadle_metadata.rights import scoped_views
from treadle_metadata.statements import execute, tuples

_LOCK: Final = 0x74726561646C6501
_FILE: Final = re.compile(r"(\d{4})_\w+\.py")


class SchemaError(MetadataError):
    """The database has another schema than this Treadle needs."""


@cache
def folder() -> Path:
    """Return the folder of the migrations: within the package when installed, at the top of a checkout."""
    package = Path(__file__).parent
    inside = package / "migrations"
    return inside if inside.exists() else package.parent.parent / "migrations"


@cache
def head() -> str:
    """Return the newest schema version that this Treadle knows."""
    names = (_FILE.fullmatch(path.name) for path in (folder() / "versions").iterdir())
    return max(found[1] for found in names if found)


def current(connection: Connection) -> str | None:
    """Return the schema version of the database, None for one that was never migrated."""
    if tuples(connection, "SELECT to_regclass('alembic_version')")[0][0] is None:
        return None
    found = tuples(connection, "SELECT version_num FROM alembic_version")
    return str(found[0][0]) if found else None


def require_current(connection: Connection) -> None:
    """Refuse to work on a database whose schema this Treadle does not know.

    Raises:
        SchemaError: the schema is older or newer.
    """
    found = current(connection)
    if found == head() and scoped_views.are_current(connection):
        return
    if found == head():
        raise SchemaError("the database has the views of another Treadle with the same tables; run: treadle db migrate")
    if found is not None and found > head():
        raise SchemaError(f"the database has schema version {found}, newer than the {head()} that this Treadle knows")
    state = "has no tables" if found is None else f"has schema version {found}"
    raise SchemaError(f"the database {state}, this Treadle needs version {head()}; run: treadle db migrate")


def migrate(url: str, now: datetime, *, default_pool_slots: int = 128) -> str:
    """Bring the database to the newest schema, with the partitions of this month and the next; return its version.

    ``default_pool_slots`` counts only when the database is new.

    Raises:
        SchemaError: the schema is newer than this Treadle.
    """
    database = Database(url, application_name="treadle migrate")
    try:
        with database.begin() as connection:
            _lock(connection)
            found = current(connection)
            if found is not None and found > head():
                require_current(connection)
            if found != head():
                _alembic().upgrade(connection, folder(), "head")
            elif not scoped_views.are_current(connection):
                scoped_views.install(connection)
            if found is None:
                slots = {"slots": default_pool_slots}
                execute(connection, "UPDATE slot_pool SET slots = %(slots)s WHERE name = 'default_pool'", slots)
            ensure_ahead(connection, now)
    finally:
        database.close()
    return head()


def roll_back(url: str, revision: str) -> None:
    """Undo the migrations after ``revision`` ("base": all of them), with the data that only they had room for."""
    database = Database(url, application_name="treadle migrate")
    try:
        with database.begin() as connection:
            _lock(connection)
            _alembic().downgrade(connection, folder(), revision)
    finally:
        database.close()


def differences(connection: Connection) -> list[Any]:
    """Return what Alembic finds different between the database and the tables of this Treadle."""
    found: list[Any] = _alembic().differences(connection)
    return found


def _lock(connection: Connection) -> None:
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": _LOCK})


def _alembic() -> Any:
    # Alembic takes 0.15 s to import, which daemons and commands that only check the version must not pay.
    return importlib.import_module("treadle_metadata.alembic_runs")
