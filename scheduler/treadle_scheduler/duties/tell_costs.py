"""Log which DAGs took most of the loop's time lately (case B15)."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from treadle_scheduler.context import Context, Done

log = logging.getLogger(__name__)

PERIOD: Final = timedelta(minutes=5)
MOST: Final = 5


def tell_costs(context: Context) -> Done:
    """Name the costliest DAGs of the last minutes; nothing is logged of an idle time."""
    now = context.clock.now()
    costs = context.costs
    if costs.since is None or now >= costs.since + PERIOD:
        costliest = costs.take(MOST)
        if costliest and costs.since is not None:
            log.info("costliest DAGs: %s", "; ".join(str(cost) for cost in costliest))
        costs.since = now
    return Done(0, costs.since + PERIOD)
