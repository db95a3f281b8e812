"""The partition of a run that a clock's time stands for: of a DAG with ``CronPartitionTimetable``, its key.

Called wherever a run with a logical date is made: by the scheduler, for backfills, and by hand. Pure.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from treadle.document import ScheduleDocument
from treadle.timetables.zone_offsets import zone_offsets


class Partition(TypedDict):
    """Two columns of ``dag_run``."""

    partition_key: str | None
    partition_date: datetime | None


def partition_of(schedule: ScheduleDocument, time: datetime | None) -> Partition:
    """Return the partition that ``time`` stands for; none if the schedule gives its runs no keys."""
    if not schedule.partition_key_format or time is None:
        return {"partition_key": None, "partition_date": None}
    local = time.astimezone(zone_offsets(schedule.timezone).zone)
    return {"partition_key": local.strftime(schedule.partition_key_format), "partition_date": time}
