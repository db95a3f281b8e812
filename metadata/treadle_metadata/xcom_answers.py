"""What a running task is answered when it asks for XComs: values, a page of them, one element of each, or a number.

Called by :mod:`treadle_metadata.execution` for each item of a ``get_xcoms`` question; the forms are those of
``treadle.runtime.supervisor.XComQuestion``. Only reads. An element is taken out where the value is stored, so that
ten thousand instances of a mapped task do not each carry off the whole list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.planning import mapped_length
from treadle_metadata.statements import rows

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

# The typed JSON of ``treadle.xcom``: an array is a list, an object that does not begin with "$type" a dict. PostgreSQL
# cannot read JSON with some escapes (\u0000, lone surrogates); such a value, and any other type, gives no row, and the
# task fetches it whole.
_ITEMS: Final = f"""
        SELECT map_index, value FROM (
            SELECT instance.map_index, CASE
                WHEN strpos(xcom.value, '\\u') > 0 THEN NULL
                WHEN starts_with(xcom.value, '[') THEN (xcom.value::json -> %(item)s::int)::text
                WHEN starts_with(xcom.value, '{{"$type":"tuple",') THEN
                    (xcom.value::json -> '$value' -> %(item)s::int)::text
                WHEN starts_with(xcom.value, '{{"$type":"dict",') THEN
                    '{{"$type":"tuple","$value":' || (xcom.value::json -> '$value' -> %(item)s::int)::text || '}}'
                WHEN starts_with(xcom.value, '{{"$type":') THEN NULL
                WHEN starts_with(xcom.value, '{{') THEN (
                    SELECT '{{"$type":"tuple","$value":[' || to_json(key)::text || ',' || value::text || ']}}'
                    FROM json_each(xcom.value::json) OFFSET %(item)s LIMIT 1)
            END AS value {_FROM}
            ORDER BY instance.map_index OFFSET %(offset)s LIMIT %(limit)s) AS found
        WHERE value IS NOT NULL
        ORDER BY map_index
"""

_COUNT: Final = f"SELECT -1 AS map_index, count(*)::text AS value {_FROM}"


def found_xcoms(connection: Connection, run: Mapping[str, Any], item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what one item of a question finds, as {"map_index", "value"}; ``run`` is the asking attempt's run."""
    ask = item.get("ask") or "values"
    if ask == "length":
        length = mapped_length(connection, run["id"], item["task_id"], item["key"], month=run["month"])
        return [] if length is None else [{"map_index": -1, "value": str(length)}]
    statement = _COUNT if ask == "count" else _VALUES if item.get("item") is None else _ITEMS
    parameters = {
        "dag_id": item.get("dag_id") or run["dag_id"],
        "run_id": item.get("run_id") or run["run_id"],
        "task_id": item["task_id"],
        "key": item["key"],
        "map_indexes": item.get("map_indexes"),
        "offset": item.get("offset") or 0,
        "limit": item.get("limit"),
        "item": item.get("item"),
    }
    return [{"map_index": row["map_index"], "value": row["value"]} for row in rows(connection, statement, parameters)]
