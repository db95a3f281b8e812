"""Gives up what workers that were killed have left on this machine, once it is certain that nothing of it runs.

A thread of the worker that starts there calls it. What is not certain before the leases are over is left to them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from sqlalchemy.exc import DBAPIError

from treadle_executors.left_attempts import Left, is_gone, processes
from treadle_metadata.connection import Database
from treadle_metadata.left_attempts import lose_left

log = logging.getLogger(__name__)

REASON: Final = "the worker was killed, and nothing of it is left on its machine"

_LOOK_AGAIN_SECONDS: Final = 0.2
_TIMES: Final = 2
"""How often in turn nothing must be found: processes come and go while they are read."""


def give_up(left: Sequence[Left], database: Database, stopping: threading.Event, seconds: float) -> None:
    """End the attempts of dead workers as soon as none of their processes is there; look for ``seconds`` at most."""
    places = [place for one in left for place in one.attempts]
    began = frozenset[UUID]().union(*(one.began for one in left))
    until = time.monotonic() + seconds
    times = 0
    while time.monotonic() < until and not stopping.wait(_LOOK_AGAIN_SECONDS):
        try:
            seen = processes()
            times = times + 1 if all(is_gone(one, seen) for one in left) else 0
            if times >= _TIMES:
                lost = database.run(
                    lambda connection: lose_left(connection, places, REASON, began=began, now=datetime.now(UTC))
                )
                log.warning("%d attempts were lost: %s", lost, REASON)
                return
        except DBAPIError as error:
            log.warning("what a killed worker has left cannot be reported, trying again: %s", error.orig)
        except OSError as error:
            log.warning("what a killed worker has left is left to its leases: %s", error)
            return
