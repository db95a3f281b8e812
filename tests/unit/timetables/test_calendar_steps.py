"""Steps of months and days: they follow the calendar of the zone and do not drift."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from dateutil.relativedelta import MO, relativedelta
from hypothesis import given
from hypothesis import strategies as st

from treadle.timetables import DeltaDataIntervalTimetable, DeltaTriggerTimetable, InvalidSchedule, TimeRestriction
from treadle.timetables.calendar_step import CalendarStep, CalendarTicks
from treadle.timetables.delta import DeltaTicks


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def first_ticks(step: relativedelta, start: str, count: int, zone: str = "UTC") -> list[str]:
    ticks = CalendarTicks(at(start), CalendarStep.of(step), zone)
    found = [ticks.at_or_after(at(start))]
    while len(found) < count:
        last = found[-1]
        assert last is not None
        found.append(ticks.after(last))
    return [one.isoformat(timespec="minutes")[:16] for one in found if one is not None]


def test_months_from_the_31st_do_not_drift_to_the_28th() -> None:
    expected = ["2025-01-31T00:00", "2025-02-28T00:00", "2025-03-31T00:00", "2025-04-30T00:00"]
    assert first_ticks(relativedelta(months=1), "2025-01-31", 4) == expected


def test_days_follow_the_wall_clock_and_hours_elapsed_time() -> None:
    start = "2024-03-09T12:00"
    days = first_ticks(relativedelta(days=1), start, 2, "America/Chicago")
    assert days == ["2024-03-09T12:00", "2024-03-10T11:00"]
    hours = first_ticks(relativedelta(hours=23), start, 2, "America/Chicago")
    assert hours == ["2024-03-09T12:00", "2024-03-10T11:00"]
    assert first_ticks(relativedelta(hours=12), start, 3, "America/Chicago")[2] == "2024-03-10T12:00"


def test_fixed_parts_set_the_day_and_the_hour() -> None:
    found = first_ticks(relativedelta(months=1, day=31, hour=6), "2025-01-10", 3)
    assert found == ["2025-01-31T06:00", "2025-02-28T06:00", "2025-03-31T06:00"]


def test_a_day_that_the_zone_skipped_is_no_tick_of_its_own() -> None:
    """Samoa had no 30 December 2011."""
    found = first_ticks(relativedelta(days=1), "2011-12-29T10:00", 3, "Pacific/Apia")
    assert found == ["2011-12-29T10:00", "2011-12-30T10:00", "2011-12-31T10:00"]


def test_monthly_intervals() -> None:
    timetable = DeltaDataIntervalTimetable(relativedelta(months=1), timezone="Europe/Vienna")
    info = timetable.next_dagrun_info(
        last_automated_data_interval=None,
        restriction=TimeRestriction(earliest=at("2023-12-31T23:00")),
        now=at("2024-04-10"),
    )
    assert info is not None
    assert info.data_interval.start == at("2024-02-29T23:00")
    assert info.data_interval.end == at("2024-03-31T22:00")
    manual = timetable.infer_manual_data_interval(run_after=at("2024-04-10"))
    assert manual.start == at("2024-03-10T01:00")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (relativedelta(months=-1), "does not move forward"),
        (relativedelta(day=1), "does not move forward"),
        (relativedelta(weeks=1, weekday=MO), "sets weekday"),
        (relativedelta(months=1, year=2020), "sets year"),
        ("daily", "no timedelta and no relativedelta"),
    ],
)
def test_a_step_that_makes_no_series_is_refused(step: object, words: str) -> None:
    with pytest.raises(InvalidSchedule, match=words):
        DeltaTriggerTimetable(step)


STEPS = st.builds(
    relativedelta,
    years=st.integers(0, 2),
    months=st.integers(0, 14),
    days=st.integers(0, 40),
    hours=st.integers(0, 23),
    day=st.none() | st.integers(1, 31),
).filter(lambda step: bool(step.years or step.months or step.days or step.hours))


@given(
    step=STEPS,
    start=st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001
    asked=st.datetimes(datetime(1980, 1, 1), datetime(2040, 1, 1)),  # noqa: DTZ001
    zone=st.sampled_from(["UTC", "America/Chicago", "Europe/Vienna", "Australia/Lord_Howe"]),
)
def test_ahead_and_back_are_inverse(step: relativedelta, start: datetime, asked: datetime, zone: str) -> None:
    ticks = CalendarTicks(start.replace(tzinfo=UTC), CalendarStep.of(step), zone)
    moment = asked.replace(tzinfo=UTC)
    after, before = ticks.after(moment), ticks.at_or_before(moment)
    assert after is not None
    assert before is not None
    assert before <= moment < after
    assert ticks.before(after) == before
    assert ticks.after(before) == after
    assert ticks.at_or_after(after) == after


@given(
    seconds=st.integers(1, 10**7),
    anchor=st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001
    asked=st.datetimes(datetime(1980, 1, 1), datetime(2040, 1, 1)),  # noqa: DTZ001
)
def test_delta_ticks_lie_a_whole_number_of_steps_from_the_anchor(
    seconds: int, anchor: datetime, asked: datetime
) -> None:
    step = timedelta(seconds=seconds)
    start, moment = anchor.replace(tzinfo=UTC), asked.replace(tzinfo=UTC)
    ticks = DeltaTicks(start, step)
    after = ticks.after(moment)
    assert (after - start) % step == timedelta(0)
    assert ticks.at_or_before(moment) <= moment < after <= moment + step
    assert ticks.before(after) == after - step
    assert ticks.at_or_after(after) == after
