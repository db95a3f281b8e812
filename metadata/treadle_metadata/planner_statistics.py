"""Lets PostgreSQL's planner know early how large the tables of a month have become.

A statement that stays prepared is planned once, and anew when a table of it is analyzed. A month's partitions begin
empty, and of a table of which nothing is known the planner believes that a month is one row: reports of attempts then
read all rows of the month instead of their own. Autovacuum looks once a minute; at hundreds of tasks a second that is
late. Called by a scheduler's duty; nothing depends on it but speed, so a crash costs nothing.
"""

from __future__ import annotations

from datetime import date
from typing import Final

from sqlalchemy import Connection

from treadle_metadata.partitions import name_of
from treadle_metadata.statements import tuples
from treadle_metadata.tables import PARTITIONED

FEW: Final = 16
"""So few pages (of 8 KiB, mostly) are read as fast as an index."""
ENOUGH: Final = 256
"""Of a table that was analyzed with so many pages, the planner knows what it needs: autovacuum sees to the rest."""

_PAGES: Final = """
    SELECT class.relname, class.relpages, pg_relation_size(class.oid) / current_setting('block_size')::int
    FROM unnest(%(names)s::text[]) AS name JOIN pg_class AS class ON class.oid = to_regclass(name)
    WHERE pg_has_role(class.relowner, 'USAGE')
"""


def is_outgrown(known: int, pages: int) -> bool:
    """Tell whether a table of ``pages`` pages is to be analyzed, of which the planner knows ``known``."""
    return known < ENOUGH and pages > max(FEW, 4 * known)


def learn(connection: Connection, month: date) -> list[str]:
    """Analyze the partitions of ``month`` that have outgrown what is known of them, and return their names.

    One that another session is just analyzing or vacuuming is left to that.
    """
    names = [name_of(table.name, month) for table in PARTITIONED]
    found = tuples(connection, _PAGES, {"names": names})
    outgrown = [name for name, known, pages in found if is_outgrown(known, pages)]
    for name in outgrown:
        connection.exec_driver_sql(f"ANALYZE (SKIP_LOCKED) {name}")
    return outgrown
