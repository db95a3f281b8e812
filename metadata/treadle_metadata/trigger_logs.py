"""What triggers log, in the logs of the tasks that wait for them.

Called by the Execution API before it records events: while an instance is deferred no worker writes to its log, so the
lines can be appended. What a trigger logs once its task has gone on, or is another's, is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import date
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.attempt_logs import Target, receive_part, write_part
from treadle_metadata.errors import LogStoreError
from treadle_metadata.remote_logs.places import LogPlaces, inside
from treadle_metadata.statements import tuples

log = logging.getLogger(__name__)

_PATHS: Final = """
    SELECT trigger.id, attempt.log_path, attempt.attempt_id::text, attempt.month
    FROM trigger
    JOIN task_attempt AS attempt ON attempt.attempt_id = trigger.attempt_id AND attempt.month = trigger.month
    WHERE trigger.id = ANY(%(ids)s) AND trigger.owner = %(owner)s
      AND NOT EXISTS (
          SELECT FROM task_instance AS instance
          WHERE instance.id = trigger.task_instance_id AND instance.month = trigger.month
            AND instance.attempt_id IS DISTINCT FROM trigger.attempt_id)
    UNION ALL
    SELECT trigger.id, callback.log_path, callback.attempt_id::text, run.month
    FROM trigger JOIN callback ON callback.attempt_id = trigger.attempt_id AND callback.log_path IS NOT NULL
                 JOIN dag_run AS run ON run.id = callback.dag_run_id
    WHERE trigger.id = ANY(%(ids)s) AND trigger.owner = %(owner)s AND trigger.task_instance_id IS NULL
"""


Follow = Callable[[str, str, date], None]
"""Told of each log that is written, by its attempt's id, its path and its month, before that."""


def append(
    connection: Connection, process_id: UUID, lines: Sequence[tuple[int, str]], places: LogPlaces, follow: Follow
) -> None:
    """Append lines of JSON, each text of one trigger, to the logs of their tasks. A full disk loses lines, no event.

    What only the remote store has of a log is fetched first, so that the file goes on where the log ends.
    """
    ids = [one for one, _ in lines]
    logs = {row[0]: row[1:] for row in tuples(connection, _PATHS, {"ids": ids, "owner": process_id})}
    for trigger, text in lines:
        if trigger not in logs:
            continue
        stored, attempt_id, month = logs[trigger]
        target = Target(stored, inside(places.folder, stored), month, was_begun=True)
        follow(attempt_id, stored, month)
        try:
            write_part(target.path, receive_part(places, target, 0, b""), text.encode())
        except (OSError, LogStoreError) as error:
            log.error("what triggers log is lost: %s: %s", target.path, error)
