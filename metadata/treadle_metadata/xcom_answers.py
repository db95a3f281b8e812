"""What a running task is answered when it asks for XComs: values, a page of them, one element of each, or a number.

Called by :mod:`treadle_metadata.execution` for each item of a ``get_xcoms`` question; the forms are those of
``treadle.runtime.supervisor.XComQuestion``. Only reads. An element is taken out here, so that ten thousand
instances of a mapped task do not each carry off the whole list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.planning import mapped_length
from treadle_metadata.statements import rows
from treadle_metadata.xcom_elements import ElementCache, Elements

_taken_apart: Final = ElementCache()
"""One for the process: instances of one mapped task ask one after the other, over any connection."""

_FROM: Final = """
        FROM dag_run AS run
        JOIN task_instance AS instance ON instance.dag_run_id = run.id AND instance.month = run.month
        JOIN xcom ON xcom.task_instance_id = instance.id AND xcom.month = instance.month
        WHERE run.dag_id = %(dag_id)s AND run.run_id = %(run_id)s AND instance.task_id = %(task_id)s
          AND xcom.key = %(key)s
          AND (%(map_indexes)s::int[] IS NULL OR instance.map_index = ANY(%(map_indexes)s::int[]))
"""

_VALUES: Final = f"""
        SELECT instance.map_index, xcom.value {_FROM}
        ORDER BY instance.map_index OFFSET %(offset)s LIMIT %(limit)s
"""

# A row's version is named by its instance, its key and the transaction that wrote it (ids of transactions are counted
# for a whole cluster, so two databases do not mix): the value itself is not read.
_VERSIONS: Final = f"""
        SELECT instance.id, instance.month, instance.map_index, xcom.xmin::text AS version {_FROM}
        ORDER BY instance.map_index OFFSET %(offset)s LIMIT %(limit)s
"""

_VALUE: Final = """
        SELECT xcom.xmin::text AS version, xcom.value FROM xcom
        WHERE task_instance_id = %(id)s AND month = %(month)s AND key = %(key)s
"""

_COUNT: Final = f"SELECT -1 AS map_index, count(*)::text AS value {_FROM}"


def found_xcoms(connection: Connection, run: Mapping[str, Any], item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what one item of a question finds, as {"map_index", "value"}; ``run`` is the asking attempt's run."""
    ask = item.get("ask") or "values"
    if ask == "length":
        length = mapped_length(connection, run["id"], item["task_id"], item["key"], month=run["month"])
        return [] if length is None else [{"map_index": -1, "value": str(length)}]
    if _is_foreign(connection, run, item.get("dag_id")):
        return []
    parameters = {
        "dag_id": item.get("dag_id") or run["dag_id"],
        "run_id": item.get("run_id") or run["run_id"],
        "task_id": item["task_id"],
        "key": item["key"],
        "map_indexes": item.get("map_indexes"),
        "offset": item.get("offset") or 0,
        "limit": item.get("limit"),
    }
    if item.get("item") is not None:
        found = ((row, _element(connection, row, item)) for row in rows(connection, _VERSIONS, parameters))
        return [{"map_index": row["map_index"], "value": text} for row, text in found if text is not None]
    statement = _COUNT if ask == "count" else _VALUES
    return [{"map_index": row["map_index"], "value": row["value"]} for row in rows(connection, statement, parameters)]


def _is_foreign(connection: Connection, run: Mapping[str, Any], dag_id: str | None) -> bool:
    """Tell whether a DAG is of another team than the one that asks: what its tasks pushed is not there for it."""
    if dag_id is None or dag_id == run["dag_id"]:
        return False
    sql = "SELECT FROM dag WHERE dag_id = %(dag_id)s AND coalesce(team, '') IN ('', %(team)s)"
    return not rows(connection, sql, {"dag_id": dag_id, "team": run.get("team") or ""})


def _element(connection: Connection, row: Mapping[str, Any], item: Mapping[str, Any]) -> str | None:
    elements = _taken_apart.get((row["id"], item["key"], row["version"]))
    if elements is None:
        stored = rows(connection, _VALUE, {"id": row["id"], "month": row["month"], "key": item["key"]})
        if not stored:
            return None
        elements = Elements(stored[0]["value"])
        _taken_apart.put((row["id"], item["key"], stored[0]["version"]), elements)
    return elements.text(item["item"])
