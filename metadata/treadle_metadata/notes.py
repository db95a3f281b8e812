"""The notes that people put on runs and task instances. A note is text, never markup or code; it changes no state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import Connection

from treadle_metadata.errors import InvalidRequestError, shown
from treadle_metadata.resources.names import checked_text
from treadle_metadata.runs import find_run
from treadle_metadata.statements import execute

LONGEST_NOTE: Final = 1000


def set_run_note(connection: Connection, dag_id: str, run_id: str, note: str | None) -> None:
    """Put ``note`` on a run in place of the one it has; None takes it off.

    Raises:
        NotFoundError: there is no such run.
        InvalidRequestError: the note is longer than 1,000 characters.
    """
    run = find_run(connection, dag_id, run_id)
    execute(
        connection,
        "UPDATE dag_run SET note = %(note)s WHERE id = %(id)s",
        {"note": checked_note(note), "id": run["id"]},
    )


def set_instance_note(
    connection: Connection, dag_id: str, run_id: str, task_id: str, note: str | None, *, map_index: int | None = None
) -> int:
    """Put ``note`` on the instances of a task in a run (or on one of them); return how many there are.

    Raises:
        NotFoundError: there is no such run.
        InvalidRequestError: the note is longer than 1,000 characters.
    """
    run = find_run(connection, dag_id, run_id)
    return execute(
        connection,
        """
        UPDATE task_instance SET note = %(note)s
        WHERE month = %(month)s AND dag_run_id = %(run)s AND task_id = %(task_id)s
          AND (%(map_index)s::int IS NULL OR map_index = %(map_index)s::int)
        """,
        {
            "note": checked_note(note),
            "month": run["month"],
            "run": run["id"],
            "task_id": task_id,
            "map_index": map_index,
        },
    )


def set_notes(connection: Connection, instances: Iterable[Mapping[str, Any]], note: str) -> None:
    """Put ``note`` on these instances (rows with ``id`` and ``month``) in one statement.

    Raises:
        InvalidRequestError: the note is longer than 1,000 characters.
    """
    listed = list(instances)
    execute(
        connection,
        """
        UPDATE task_instance AS instance SET note = %(note)s
        FROM unnest(%(ids)s::bigint[], %(months)s::date[]) AS meant (id, month)
        WHERE instance.id = meant.id AND instance.month = meant.month
        """,
        {
            "note": checked_note(note),
            "ids": [one["id"] for one in listed],
            "months": [one["month"] for one in listed],
        },
    )


def checked_note(note: str | None) -> str | None:
    """Return ``note`` if it can be stored.

    Raises:
        InvalidRequestError: it is longer than 1,000 characters or holds a character that cannot be stored.
    """
    if note is None:
        return None
    if len(note) > LONGEST_NOTE:
        raise InvalidRequestError(f"note {shown(note, 40)} is too long: expected at most {LONGEST_NOTE} characters")
    return checked_text("a note", note)
