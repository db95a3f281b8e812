"""What becomes of a duty that fails: the scheduler goes on, whatever one duty, one DAG or the database does.

An outage of the database is waited for; nothing was committed that is not there afterwards. Any other fault is logged
with its traceback and rolled back, and the duty is tried again at the next heartbeat, while the others go on.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from treadle_metadata.connection import is_passing
from treadle_scheduler.context import Context, Done, Duty

log = logging.getLogger(__name__)

OUTAGE: Final = timedelta(seconds=1)
"""How long to leave a database alone that does not answer."""


class DatabaseOutage(Exception):
    """The database does not answer; the beat ends here."""


def run_duty(duty: Duty, context: Context) -> Done:
    """Run one duty.

    Raises:
        DatabaseOutage: the database does not answer; its pooled connections were closed.
    """
    try:
        return duty(context)
    except Exception as error:
        if is_passing(error):
            reason = getattr(error, "orig", error)
            log.warning("the database does not answer, trying again in %g s: %s", OUTAGE.total_seconds(), reason)
            context.database.close()
            context.memory.forget_all()
            raise DatabaseOutage from error
        log.exception("%s failed; it is tried again within %g s", duty.__name__, context.settings.heartbeat_seconds)
        return Done()
