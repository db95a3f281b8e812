"""Where the schedules of a simulation begin: as if everything due before had run.

Pure. A DAG with ten years to catch up on would else make ten years of runs in the first virtual minute.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from treadle.document import DagDocument
from treadle.timetables.base import DagRunInfo, DataInterval
from treadle_scheduler.calendar import next_run

_BACK: Final = [timedelta(hours=1), *(timedelta(days=days) for days in (1, 8, 32, 367, 5 * 366))]
"""How far back a run is looked for: the nearest first, so that a minutely schedule is not walked for years."""


def beginning(
    document: DagDocument, begin: datetime, *, cron_style: str
) -> tuple[DataInterval | None, DagRunInfo | None]:
    """Return the interval of the last run due before ``begin``, and the first run due at ``begin`` or later."""
    last = _last_before(document, begin, cron_style)
    return last, next_run(replace(document, catchup=True), last=last, now=begin, cron_style=cron_style)


def _last_before(document: DagDocument, begin: datetime, cron_style: str) -> DataInterval | None:
    latest, every = replace(document, catchup=False), replace(document, catchup=True)
    for back in _BACK:
        info = next_run(latest, last=None, now=begin - back, cron_style=cron_style)
        if info is None or info.run_after >= begin:
            continue
        last = info
        while info is not None and info.run_after < begin:
            last = info
            info = next_run(every, last=info.data_interval, now=begin, cron_style=cron_style)
        return last.data_interval
    return None
