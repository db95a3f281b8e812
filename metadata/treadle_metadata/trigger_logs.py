"""What triggers log, in the logs of the tasks that wait for them.

Called by the Execution API before it records events: while an instance is deferred no worker writes to its log, so the
lines can be appended. What a trigger logs once its task has gone on, or is another's, is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.attempt_logs import write_part
from treadle_metadata.remote_logs.places import inside, size_of
from treadle_metadata.statements import tuples

log = logging.getLogger(__name__)

_PATHS: Final = """
    SELECT trigger.id, attempt.log_path
    FROM trigger
    JOIN task_attempt AS attempt ON attempt.attempt_id = trigger.attempt_id AND attempt.month = trigger.month
    WHERE trigger.id = ANY(%(ids)s) AND trigger.owner = %(owner)s
      AND NOT EXISTS (
          SELECT FROM task_instance AS instance
          WHERE instance.id = trigger.task_instance_id AND instance.month = trigger.month
            AND instance.attempt_id IS DISTINCT FROM trigger.attempt_id)
"""


def append(connection: Connection, process_id: UUID, lines: Sequence[tuple[int, str]], logs_folder: Path) -> None:
    """Append lines of JSON, each text of one trigger, to the logs of their tasks. A full disk loses lines, no event."""
    ids = [one for one, _ in lines]
    paths = dict(tuples(connection, _PATHS, {"ids": ids, "owner": process_id}))
    for trigger, text in lines:
        if trigger not in paths:
            continue
        path = inside(logs_folder, paths[trigger])
        try:
            write_part(path, size_of(path), text.encode())
        except OSError as error:
            log.error("no room for what triggers log: %s: %s", path, error.strerror or error)
