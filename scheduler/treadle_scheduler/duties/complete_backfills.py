"""Complete the backfills whose runs have all ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from treadle_metadata import backfills
from treadle_scheduler.context import Context, Done

PERIOD: Final = timedelta(seconds=5)


def complete_backfills(context: Context) -> Done:
    """Mark backfills completed."""
    now = context.clock.now()
    completed = context.database.run(lambda connection: backfills.complete_finished(connection, now=now))
    return Done(completed, now + PERIOD)
