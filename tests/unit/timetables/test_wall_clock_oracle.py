"""Fire times of generated expressions in many zones against a walk over every minute of the wall clock.

The oracle knows only the definition: it lists the wall minutes of some days about a change of the clock,
asks ``zoneinfo`` which instants each stands for, and applies the policies. ``--hypothesis-profile=long``
looks longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.timetables.wall_clock import WallClock

MINUTE = timedelta(minutes=1)

CHANGES = [
    ("America/Chicago", "2024-03-10"),
    ("America/Chicago", "2024-11-03"),
    ("America/New_York", "2024-11-03"),
    ("America/St_Johns", "2006-10-29"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Sao_Paulo", "2019-02-17"),
    ("America/Havana", "2024-03-10"),
    ("America/Nuuk", "2024-03-31"),
    ("Africa/Casablanca", "2024-03-10"),
    ("Africa/Cairo", "2024-04-26"),
    ("Africa/Monrovia", "1972-01-07"),
    ("Asia/Kathmandu", "1986-01-01"),
    ("Asia/Kolkata", "2024-01-01"),
    ("Asia/Pyongyang", "2018-05-05"),
    ("Asia/Tehran", "2022-03-22"),
    ("Asia/Gaza", "2023-04-29"),
    ("Australia/Lord_Howe", "2024-04-07"),
    ("Australia/Lord_Howe", "2024-10-06"),
    ("Australia/Sydney", "2024-04-07"),
    ("Antarctica/Troll", "2024-03-31"),
    ("Antarctica/Troll", "2024-10-27"),
    ("Europe/Dublin", "2024-10-27"),
    ("Europe/London", "2024-03-31"),
    ("Europe/Vienna", "2017-10-29"),
    ("Europe/Warsaw", "2024-12-31"),
    ("Pacific/Apia", "2011-12-30"),
    ("Pacific/Chatham", "2024-09-29"),
    ("Pacific/Kwajalein", "1993-08-21"),
    ("UTC", "2024-01-01"),
]


@dataclass(frozen=True)
class Schedule:
    """A generated expression as sets, so that the oracle parses nothing. ``hours`` None is a wildcard."""

    minutes: frozenset[int]
    hours: frozenset[int] | None
    weekdays: frozenset[int] | None

    @property
    def text(self) -> str:
        hours = "*" if self.hours is None else ",".join(map(str, sorted(self.hours)))
        weekdays = "*" if self.weekdays is None else ",".join(map(str, sorted(self.weekdays)))
        return f"{','.join(map(str, sorted(self.minutes)))} {hours} * * {weekdays}"

    def names(self, wall: datetime) -> bool:
        return (
            wall.minute in self.minutes
            and (self.hours is None or wall.hour in self.hours)
            and (self.weekdays is None or wall.isoweekday() % 7 in self.weekdays)
        )


SCHEDULES = st.builds(
    Schedule,
    st.frozensets(st.integers(0, 59), min_size=1, max_size=3),
    st.none() | st.frozensets(st.integers(0, 23), min_size=1, max_size=6),
    st.none() | st.frozensets(st.integers(0, 6), min_size=1, max_size=4),
)


def instants_of(wall: datetime, zone: ZoneInfo) -> list[datetime]:
    """Return the instants at which the clock shows ``wall``: none in a gap, two in a doubled hour."""
    found = {wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(one for one in found if one.astimezone(zone).replace(tzinfo=None, fold=0) == wall)


def end_of_gap(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant at which the clock shows a time later than ``wall``."""
    instant = wall.replace(tzinfo=UTC) - timedelta(hours=27)
    while instant.astimezone(zone).replace(tzinfo=None) < wall:
        instant += timedelta(hours=1)
    while instant.astimezone(zone).replace(tzinfo=None) >= wall:
        instant -= timedelta(seconds=15)
    return instant + timedelta(seconds=15)


def walk(schedule: Schedule, zone: ZoneInfo, day: datetime, gap: str, doubled: str) -> list[datetime]:
    """Return the fire times whose wall time lies from two days before ``day`` until three days after it."""
    found: set[datetime] = set()
    for minute in range(5 * 24 * 60):
        wall = day - timedelta(days=2) + minute * MINUTE
        if not schedule.names(wall):
            continue
        instants = instants_of(wall, zone)
        if schedule.hours is None or doubled == "both":
            found.update(instants)
        elif instants and not (doubled == "none" and len(instants) == 2):
            found.add(instants[-1] if doubled == "last" else instants[0])
        if not instants and schedule.hours is not None and gap == "shift":
            found.add(end_of_gap(wall, zone))
    return sorted(found)


ZONES = sorted(available_timezones() - {"localtime", "Factory"})
ANYWHERE = st.tuples(
    st.sampled_from(ZONES), st.dates(date(1973, 1, 5), date(2037, 12, 25)).map(lambda day: day.isoformat())
)


@given(
    schedule=SCHEDULES,
    where=st.sampled_from(CHANGES) | ANYWHERE,
    gap=st.sampled_from(["shift", "skip"]),
    doubled=st.sampled_from(["first", "last", "both", "none"]),
)
@settings(deadline=None)
def test_fire_times_are_those_of_a_minute_walk(
    schedule: Schedule, where: tuple[str, str], gap: str, doubled: str
) -> None:
    name, date = where
    zone, day = ZoneInfo(name), datetime.fromisoformat(date)
    clock = WallClock(schedule.text, name, gap, doubled)
    begin, end = (
        max(instants_of(day - timedelta(days=1, minutes=1), zone), default=day.replace(tzinfo=UTC)),
        max(instants_of(day + timedelta(days=2), zone), default=day.replace(tzinfo=UTC)),
    )
    expected = [one for one in walk(schedule, zone, day, gap, doubled) if begin < one < end]
    ahead, cursor = [], clock.after(begin)
    while cursor is not None and cursor < end:
        ahead.append(cursor)
        cursor = clock.after(cursor)
    back, cursor = [], clock.before(end)
    while cursor is not None and cursor > begin:
        back.append(cursor)
        cursor = clock.before(cursor)
    assert ahead == expected
    assert back[::-1] == expected


@given(
    schedule=SCHEDULES,
    zone=st.sampled_from(ZONES),
    year=st.integers(1971, 2045),
    second=st.integers(0, 366 * 86_400),
    gap=st.sampled_from(["shift", "skip"]),
    doubled=st.sampled_from(["first", "last", "both", "none"]),
)
def test_next_and_previous_are_inverse_and_strictly_monotonic(
    schedule: Schedule, zone: str, year: int, second: int, gap: str, doubled: str
) -> None:
    """Case A5: ``next(next(t)) > next(t) > t`` for every t; and the way back is the way ahead."""
    clock = WallClock(schedule.text, zone, gap, doubled)
    moment = datetime(year, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    first = clock.after(moment)
    assert first is not None
    then = clock.after(first)
    assert then is not None
    assert moment < first < then
    assert clock.before(then) == first
    assert clock.at_or_before(then) == clock.at_or_after(then) == then
    assert clock.at_or_before(then - timedelta(microseconds=1)) == first
    previous = clock.at_or_before(moment)
    assert previous is not None
    assert previous <= moment
    assert clock.after(previous) == first


@pytest.mark.parametrize("doubled", ["first", "last", "both"])
def test_a_year_of_each_zone_has_each_daily_time_once_a_day(doubled: str) -> None:
    """Every local day gets exactly one run of a daily schedule, unless both passes are asked for."""
    for name in ("America/Chicago", "Europe/Vienna", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Gaza"):
        clock = WallClock("30 2 * * *", name, doubled=doubled)
        cursor = datetime(2023, 12, 31, 12, tzinfo=UTC)
        days: list[str] = []
        while cursor < datetime(2025, 1, 1, 12, tzinfo=UTC):
            following = clock.after(cursor)
            assert following is not None
            days.append(following.astimezone(clock.offsets.zone).date().isoformat())
            cursor = following
        in_year = [day for day in days if day.startswith("2024")]
        assert len(set(in_year)) == 366
        if doubled != "both":
            assert len(in_year) == 366


def test_every_zone_has_each_day_once_about_the_changes_of_a_year() -> None:
    """All zones of tzdata, one after another: a daily time, strictly increasing, a day at a time."""
    for name in ZONES:
        clock = WallClock("30 2 * * *", name)
        for begin in (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 9, 20, tzinfo=UTC)):
            days, cursor = [], begin
            for _ in range(60):
                following = clock.after(cursor)
                assert following is not None
                assert following > cursor, name
                days.append(following.astimezone(clock.offsets.zone).date().toordinal())
                cursor = following
            assert days == list(range(days[0], days[0] + 60)), name
