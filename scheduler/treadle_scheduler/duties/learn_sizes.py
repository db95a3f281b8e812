"""Let the planner know of a month's tables that have grown a lot, at each heartbeat."""

from __future__ import annotations

from treadle_metadata import planner_statistics
from treadle_metadata.identifiers import month_of
from treadle_scheduler.context import Context, Done


def learn_sizes(context: Context) -> Done:
    """Analyze the partitions of this month of which the planner knows too little."""
    month = month_of(context.clock.now())
    context.database.run(lambda connection: planner_statistics.learn(connection, month))
    return Done()
