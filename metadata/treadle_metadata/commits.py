"""Attempts whose own transaction carried their end: what they came to stands, whatever is reported of them later.

A task that writes to this database's server under a role that may call ``treadle_commit`` notes there, in the
transaction of its rows, what it came to. Its report comes after that, or never: ``execution.record_finishes`` asks
here before it believes that an attempt failed, was lost or is handed back. The row of the attempt is what both sides
lock, so either the note is seen here, or the transaction finds the attempt over and is rolled back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.assets import emitting
from treadle_metadata.claims import claim_attempts_to_end
from treadle_metadata.instance_locks import lock_instances

_SUCCESS: Final = "success"
_LONGEST_KEY: Final = 512


def honoured(connection: Connection, reports: Sequence[Mapping[str, Any]], *, month: date) -> list[Mapping[str, Any]]:
    """Return finish reports, those of attempts that have committed their end as the successes that they are.

    One whose transaction is at its very commit just now is left out, for whoever comes after it; it is not accepted.
    """
    doubtful = [one for one in reports if one["outcome"] != _SUCCESS]
    if not doubtful:
        return list(reports)
    # All of the batch, not these alone, and instances before attempts: the order in which everybody locks them.
    lock_instances(connection, [(month, one["task_instance_id"]) for one in reports])
    known = claim_attempts_to_end(connection, [UUID(str(one["attempt_id"])) for one in doubtful], month=month)
    found = []
    for one in reports:
        key = UUID(str(one["attempt_id"]))
        if one["outcome"] == _SUCCESS:
            found.append(one)
        elif key in known:
            found.append(_as_committed(one, known[key]))
    return found


def _as_committed(report: Mapping[str, Any], text: str | None) -> Mapping[str, Any]:
    if text is None:
        return report
    try:
        kept = json.loads(text)
    except ValueError:
        kept = None
    kept = kept if isinstance(kept, dict) else {}
    # The text was written under the task's own role, so nothing in it is taken on trust.
    return {
        **report,
        "outcome": _SUCCESS,
        "error": None,
        "resume": None,
        "xcoms": [one for one in _dicts(kept.get("xcoms")) if _is_xcom(one)],
        "asset_events": [one for one in _dicts(kept.get("asset_events")) if emitting.is_usable(one)],
    }


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _is_xcom(one: Mapping[str, Any]) -> bool:
    key, value, length = one.get("key"), one.get("value"), one.get("length")
    if not isinstance(key, str) or not isinstance(value, str) or not 0 < len(key) <= _LONGEST_KEY:
        return False
    if "\0" in key or "\0" in value or not _is_unicode(key + value):
        return False
    return length is None or (isinstance(length, int) and 0 <= length < 2**31)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
