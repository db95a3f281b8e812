"""Locks task instances in the one order, before several statements change some of them each.

Called by those whose act is more than one statement (``clearing``, ``commits``, ``trigger_events``): one statement
locks in the order of ids, two need not.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from itertools import groupby
from typing import Final

from sqlalchemy import Connection

from treadle_metadata.statements import tuples

_LOCK: Final = """
    SELECT id FROM task_instance WHERE id = ANY(%(ids)s) AND month = %(month)s ORDER BY id FOR NO KEY UPDATE
"""


def lock_instances(connection: Connection, instances: Iterable[tuple[date, int]]) -> None:
    """Lock instances, (month, id) each, until the transaction ends: month by month, in the order of their ids."""
    for month, of_month in groupby(sorted(instances), key=lambda one: one[0]):
        tuples(connection, _LOCK, {"ids": [one[1] for one in of_month], "month": month})
