"""Keep the month partitions of the big tables made a month ahead."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from treadle_metadata import partitions
from treadle_scheduler.context import Context, Done

PERIOD: Final = timedelta(hours=6)


def make_partitions(context: Context) -> Done:
    """Make the partitions of this and the next month that are missing."""
    now = context.clock.now()
    made = context.database.run(lambda connection: partitions.ensure_ahead(connection, now))
    return Done(len(made), now + PERIOD)
