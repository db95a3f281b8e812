"""The month partitions of the big tables.

Made by ``migration.migrate`` and by a scheduler's duty, always a month ahead, and by whoever needs another month (a
backfill's runs belong to the month in which they are made, so there are no old months to make). Making one never
blocks readers or writers of the other months.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Final

from sqlalchemy import Connection

from treadle_metadata.identifiers import month_of
from treadle_metadata.statements import tuples
from treadle_metadata.tables import PARTITIONED

_NAME: Final = re.compile(rf"({'|'.join(table.name for table in PARTITIONED)})_\d{{4}}_\d{{2}}")

# Room on each page, so that the state changes of an instance stay HOT: no index is touched.
_STORAGE: Final = {"task_instance": " WITH (fillfactor = 70)", "task_attempt": " WITH (fillfactor = 80)"}

_LOCK: Final = 0x74726561646C6502


def name_of(table: str, month: date) -> str:
    """Return the name of the partition of ``table`` that holds ``month``."""
    return f"{table}_{month:%Y_%m}"


def is_partition(table: str) -> bool:
    """Tell whether ``table`` is the name of a partition."""
    return _NAME.fullmatch(table) is not None


def following(month: date) -> date:
    """Return the first day of the next month."""
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)


def ensure(connection: Connection, month: date) -> list[str]:
    """Make the partitions of ``month`` that are missing and return their names."""
    first = month.replace(day=1)
    if not _missing(connection, first):
        return []
    # One maker at a time; a second one finds nothing left to make.
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": _LOCK})
    made = _missing(connection, first)
    for table in made:
        _make(connection, table, first)
    return [name_of(table, first) for table in made]


def ensure_ahead(connection: Connection, now: datetime) -> list[str]:
    """Make the missing partitions of the month of ``now`` and of the next one and return their names."""
    month = month_of(now)
    return ensure(connection, month) + ensure(connection, following(month))


def _missing(connection: Connection, month: date) -> list[str]:
    names = {name_of(table.name, month): table.name for table in PARTITIONED}
    found = tuples(
        connection,
        "SELECT name FROM unnest(%(names)s::text[]) AS name WHERE to_regclass(name) IS NOT NULL",
        {"names": list(names)},
    )
    present = {row[0] for row in found}
    return [table for name, table in names.items() if name not in present]


def _make(connection: Connection, table: str, month: date) -> None:
    make_apart(connection, table, month)
    attach(connection, table, month)


def make_apart(connection: Connection, table: str, month: date) -> str:
    """Make a table like a partition of ``table``, without its indexes, and return its name; to be attached."""
    name = name_of(table, month)
    # Attached, not made in place: CREATE ... PARTITION OF would lock out everybody from the whole table.
    like = f"LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE"
    connection.exec_driver_sql(f"CREATE TABLE {name} ({like}){_STORAGE.get(table, '')}")
    return name


def attach(connection: Connection, table: str, month: date) -> None:
    """Make what ``make_apart`` made a partition of ``table``, with its indexes."""
    bounds = f"FROM ('{month}') TO ('{following(month)}')"
    connection.exec_driver_sql(f"ALTER TABLE {table} ATTACH PARTITION {name_of(table, month)} FOR VALUES {bounds}")
