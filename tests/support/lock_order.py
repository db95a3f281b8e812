"""The order in which a transaction takes its locks, told from its statements: runs come before instances (design 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

_STATEMENT: Final = re.compile(
    r"UPDATE\s+(dag|dag_run|task_instance|slot_pool)\b|FROM\s+(dag|dag_run|task_instance|slot_pool)\b"
    r"(?:(?!\bFROM\b).)*?\bFOR (?:NO KEY )?UPDATE",
    re.DOTALL,
)
_ORDER: Final = {"dag": 0, "dag_run": 1, "task_instance": 2, "slot_pool": 3}


def locks_of(statements: Iterable[tuple[str, Any]]) -> list[tuple[str, frozenset[int]]]:
    """Return the tables whose rows statements lock, in order, each with the ids that are named (empty: not by ids)."""
    found = []
    for sql, parameters in statements:
        match = _STATEMENT.search(sql)
        if match:
            ids = parameters.get("ids") if isinstance(parameters, dict) else None
            found.append((match[1] or match[2], frozenset(ids or ())))
    return found


def out_of_order(statements: Iterable[tuple[str, Any]]) -> list[str]:
    """Return what one transaction locks too late: rows of a table after those of one that comes behind it."""
    held: dict[str, set[int]] = {}
    faults = []
    for table, ids in locks_of(statements):
        behind = [other for other in held if _ORDER[other] > _ORDER[table]]
        new = ids - held.get(table, set())
        if new and (behind or (table in held and min(new) < max(held[table], default=0))):
            faults.append(f"{table} {sorted(new)} after {behind or sorted(held[table])}")
        held.setdefault(table, set()).update(ids)
    return faults
