"""XComs that people write: made, changed or deleted by hand, for a task instance that is there.

Called by the routes. What is stored is the typed JSON of plain data (``treadle.xcom.dumps``), so whatever a person
writes is data for the task that pulls it, never a class (case F24).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from treadle.document import RESERVED_KEYS
from treadle.errors import XComTooLargeError, XComTypeError
from treadle.xcom import dumps
from treadle_metadata.errors import ConflictError, InvalidRequestError, LimitError, NotFoundError, shown
from treadle_metadata.queries.task_instances import get_instance
from treadle_metadata.resources.names import checked_name
from treadle_metadata.statements import execute

Place = tuple[str, str, str, int]
"""DAG, run, task and map index of an instance."""

_CREATE: Final = """
    INSERT INTO xcom (task_instance_id, key, month, value, length, created_at)
    VALUES (%(instance)s, %(key)s, %(month)s, %(value)s, %(length)s, %(now)s)
    ON CONFLICT DO NOTHING
"""

_CHANGE: Final = """
    UPDATE xcom SET value = %(value)s, length = %(length)s, created_at = %(now)s
    WHERE task_instance_id = %(instance)s AND key = %(key)s AND month = %(month)s
"""

_DELETE: Final = """
    DELETE FROM xcom WHERE task_instance_id = %(instance)s AND key = %(key)s AND month = %(month)s
"""


def create_xcom(connection: Connection, place: Place, key: str, value: Any, *, most_bytes: int, now: datetime) -> None:
    """Give an instance an XCom of plain JSON.

    Raises:
        NotFoundError: there is no such instance.
        ConflictError: it has one with that key.
        InvalidRequestError: the key or the value cannot be stored.
        LimitError: the value is larger than ``most_bytes``.
    """
    checked_name("XCom key", key, field="key")
    if execute(connection, _CREATE, _row(connection, place, key) | _stored(key, value, most_bytes, now)) == 0:
        raise ConflictError(f"task {shown(place[2])} has an XCom {shown(key)} already; change that one")


def change_xcom(connection: Connection, place: Place, key: str, value: Any, *, most_bytes: int, now: datetime) -> None:
    """Replace the value of an XCom.

    Raises:
        NotFoundError: there is no such instance or XCom.
        InvalidRequestError: the value cannot be stored.
        LimitError: the value is larger than ``most_bytes``.
    """
    if execute(connection, _CHANGE, _row(connection, place, key) | _stored(key, value, most_bytes, now)) == 0:
        raise _missing(place, key)


def delete_xcom(connection: Connection, place: Place, key: str) -> None:
    """Delete an XCom.

    Raises:
        NotFoundError: there is no such instance or XCom.
    """
    if execute(connection, _DELETE, _row(connection, place, key)) == 0:
        raise _missing(place, key)


def _row(connection: Connection, place: Place, key: str) -> dict[str, Any]:
    if key.startswith(RESERVED_KEYS):
        raise InvalidRequestError(f"XCom key {shown(key)} is Treadle's own: it cannot be written")
    instance = get_instance(connection, *place)
    return {"instance": instance["id"], "month": instance["month"], "key": key}


def _stored(key: str, value: Any, most_bytes: int, now: datetime) -> dict[str, Any]:
    try:
        text, length = dumps(value, key=key, max_bytes=most_bytes)
    except XComTooLargeError as error:
        raise LimitError(str(error)) from error
    except XComTypeError as error:
        raise InvalidRequestError(str(error)) from error
    return {"value": text, "length": length, "now": now}


def _missing(place: Place, key: str) -> NotFoundError:
    return NotFoundError(f"XCom of task {place[2]!r} (map index {place[3]}) in run {place[1]!r}", key)
