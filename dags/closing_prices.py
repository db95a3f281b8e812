"""# Closing prices

Teaches a timetable of your own: one run after each trading day of an exchange, none on weekends and holidays.

Each run covers the time from the last close to this one, and is made half an hour after it. A Friday's run is followed
by Monday's, which covers the weekend; a holiday is covered by the day after it.
"""

import json
import os
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from treadle import Param, dag, task
from treadle.timetables import DagRunInfo, DataInterval, Timetable

HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")
ZONE = ZoneInfo("America/New_York")
DAY = timedelta(days=1)


def nth_weekday(year, month, weekday, nth):
    """Return the nth Monday (0), Tuesday ... of a month; the last one for nth=-1."""
    if nth < 0:
        end = date(year + month // 12, month % 12 + 1, 1) - DAY
        return end - timedelta(days=(end.weekday() - weekday) % 7)
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))


def easter(year):
    """Return Easter Sunday (the anonymous Gregorian computus)."""
    century, rest = divmod(year, 100)
    leap, over = divmod(century, 4)
    epact = (19 * (year % 19) + century - leap - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    offset = (32 + 2 * over + 2 * (rest // 4) - epact - rest % 4) % 7
    month, day = divmod(epact + offset - 7 * ((year % 19 + 11 * epact + 22 * offset) // 451) + 114, 31)
    return date(year, month, day + 1)


def holidays(year):
    """Return the days on which the exchange is closed all day, weekends apart."""
    moving = {
        nth_weekday(year, 1, 0, 3),  # Martin Luther King
        nth_weekday(year, 2, 0, 3),  # Washington's Birthday
        easter(year) - 2 * DAY,  # Good Friday
        nth_weekday(year, 5, 0, -1),  # Memorial Day
        nth_weekday(year, 9, 0, 1),  # Labor Day
        nth_weekday(year, 11, 3, 4),  # Thanksgiving
    }
    fixed = [date(year, 1, 1), date(year, 6, 19), date(year, 7, 4), date(year, 12, 25)]
    # On a Sunday it is kept on Monday, on a Saturday on Friday; a New Year's Day on a Saturday is not made up for.
    kept = {day + {5: -DAY, 6: DAY}.get(day.weekday(), 0 * DAY) for day in fixed}
    return moving | {day for day in kept if day.year == year}


class TradingDays(Timetable):
    """A run after the close of each trading day, ``delay`` minutes later."""

    timezone = ZONE.key

    def __init__(self, delay=30):
        self.delay = delay
        self.description = f"{delay} minutes after the close of each trading day"

    def serialize(self):
        return {"delay": self.delay}

    def next_dagrun_info(self, *, last_automated_data_interval, restriction, now):
        if last_automated_data_interval is not None:
            start = last_automated_data_interval.end
        else:
            start = self.close_before(restriction.earliest or now)
        end = self.close_after(start)
        return DagRunInfo(end + timedelta(minutes=self.delay), DataInterval(start, end))

    def infer_manual_data_interval(self, *, run_after):
        end = self.close_before(run_after)
        return DataInterval(self.close_before(end - timedelta(seconds=1)), end)

    def close_after(self, moment):
        day = moment.astimezone(ZONE).date()
        while not (self.is_open(day) and self.close_of(day) > moment):
            day += DAY
        return self.close_of(day)

    def close_before(self, moment):
        day = moment.astimezone(ZONE).date()
        while not (self.is_open(day) and self.close_of(day) <= moment):
            day -= DAY
        return self.close_of(day)

    def is_open(self, day):
        return day.weekday() < 5 and day not in holidays(day.year)

    def close_of(self, day):
        return datetime.combine(day, time(16), ZONE).astimezone(UTC)


@dag(
    schedule=TradingDays(),
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    params={"folder": Param(str(HOME / "examples"), type="string", description="Where results are written")},
    tags=["example"],
    doc_md=__doc__,
)
def closing_prices():
    @task
    def store(params, data_interval_start=None, data_interval_end=None):
        target = Path(params["folder"]) / "closing_prices.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        span = {"from": str(data_interval_start), "to": str(data_interval_end)}
        target.write_text(json.dumps(span))
        return span

    store()


closing_prices()
