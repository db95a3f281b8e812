"""The audit log: one row for each change that a person makes, in the transaction of that change.

Called by the routes and commands that change something. What is recorded is masked first: values under names that
sound secret, and all values of variables and connections, which the callers do not pass at all (cases F8, F9).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle.runtime import masking
from treadle_metadata.identifiers import month_of
from treadle_metadata.statements import execute

MASK: Final = masking.MASK
_LONGEST: Final = 10_000

_INSERT: Final = """
    INSERT INTO audit_log (month, happened_at, actor, event, dag_id, run_id, task_id, map_index, detail)
    VALUES (%(month)s, %(now)s, %(actor)s, %(event)s, %(dag_id)s, %(run_id)s, %(task_id)s, %(map_index)s,
            %(detail)s::jsonb)
"""


def record(
    connection: Connection,
    *,
    actor: str,
    event: str,
    now: datetime,
    dag_id: str | None = None,
    run_id: str | None = None,
    task_id: str | None = None,
    map_index: int | None = None,
    subject: str | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Record that ``actor`` did ``event`` (a verb and its object, such as ``trigger_dag_run``).

    ``subject`` names what is no DAG, run or task: an account, a pool. Of ``before`` and ``after`` those values are
    kept that differ; what was made has no ``before``, and what was deleted no ``after``.
    """
    told = dict(detail or {}) if subject is None else {"name": subject} | dict(detail or {})
    text = json.dumps(masked(told | changed(before, after)), default=str)
    if len(text) > _LONGEST:
        text = json.dumps({"note": f"left out: {len(text)} characters"})
    parameters = {
        "month": month_of(now),
        "now": now,
        "actor": actor,
        "event": event,
        "dag_id": dag_id,
        "run_id": run_id,
        "task_id": task_id,
        "map_index": map_index,
        "detail": text,
    }
    execute(connection, _INSERT, parameters)


def changed(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``before`` and ``after`` without the values that are the same in both; a side that is None is left out."""
    if before is not None and after is not None:
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        before, after = ({name: one.get(name) for name in names} for one in (before, after))
    return {name: dict(one) for name, one in (("before", before), ("after", after)) if one is not None}


def masked(value: Any) -> Any:
    """Return ``value`` with what stands under a secret-sounding name replaced by ``***``, at any depth."""
    if isinstance(value, Mapping):
        return {name: MASK if _hides(str(name)) and one is not None else masked(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [masked(one) for one in value]
    return value


def _hides(name: str) -> bool:
    # The names are the masker's, so that logs and audit log cannot differ (case F16); an extra may hold anything.
    return masking.looks_secret(name) or name.lower() == "extra"
