"""Every kind of timetable against slow, obvious lists of its times: unions of expressions, events, fixed steps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import available_timezones

from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.timetables import (
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    DataInterval,
    DeltaDataIntervalTimetable,
    DeltaTriggerTimetable,
    EventsTimetable,
    MultipleCronTriggerTimetable,
    TimeRestriction,
    Timetable,
)
from treadle.timetables.factory import from_document
from treadle.timetables.wall_clock import WallClock

START = datetime(2024, 3, 1, tzinfo=UTC)
ZONES = sorted(available_timezones() - {"localtime", "Factory"})
CRONS = [
    "*/7 * * * *",
    "0 6 * * *",
    "30 2 * * *",
    "0 0 1 * *",
    "0 12 * * MON-FRI",
    "15 */3 * * *",
    "0 9 L * *",
    "0 9 15W * *",
    "0 9 * * FRI#1",
    "0 9 1 * FRI",
    "0 0 * * * 30",
]
MOMENTS = st.integers(0, 45 * 24 * 60).map(lambda minutes: START + timedelta(minutes=minutes))


def times(timetable: Timetable, since: datetime, most: int, **restriction: object) -> list[datetime]:
    """Return the first fire times from ``since`` on, one run after another, as with catch-up."""
    found: list[datetime] = []
    last: DataInterval | None = None
    allowed = TimeRestriction(earliest=since, catchup=True, **restriction)  # type: ignore[arg-type]
    while len(found) < most:
        info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=allowed, now=since)
        if info is None:
            break
        found.append(info.run_after)
        last = info.data_interval
    return found


@given(st.lists(st.sampled_from(CRONS), min_size=1, max_size=4), st.sampled_from(ZONES), MOMENTS)
@settings(deadline=None)
def test_several_expressions_fire_at_the_union_of_their_times(crons: list[str], zone: str, since: datetime) -> None:
    union: set[datetime] = set()
    for cron in crons:
        clock, cursor = WallClock(cron, zone), since - timedelta(microseconds=1)
        for _ in range(30):
            following = clock.after(cursor)
            assert following is not None
            assert following > cursor
            union.add(following)
            cursor = following
    assert times(MultipleCronTriggerTimetable(*crons, timezone=zone), since, 30) == sorted(union)[:30]


@given(st.lists(MOMENTS, min_size=1, max_size=20), MOMENTS, st.booleans())
def test_events_fire_at_each_moment_once_from_the_start_to_the_end(
    moments: list[datetime], since: datetime, stored: bool
) -> None:
    timetable: Timetable = EventsTimetable([*moments, *moments])
    if stored:
        timetable = from_document(timetable.to_document())
    assert times(timetable, since, 100) == sorted({one for one in moments if one >= since})
    end = since + timedelta(days=9)
    assert times(timetable, since, 100, latest=end) == sorted({one for one in moments if since <= one <= end})


@given(st.lists(MOMENTS, min_size=1, max_size=12), MOMENTS, MOMENTS)
def test_events_without_catchup_give_the_latest_that_is_past_and_then_what_comes(
    moments: list[datetime], since: datetime, now: datetime
) -> None:
    info = EventsTimetable(moments).next_dagrun_info(
        last_automated_data_interval=None, restriction=TimeRestriction(earliest=since), now=now
    )
    allowed = sorted({one for one in moments if one >= since})
    past = [one for one in allowed if one <= now]
    assert (info and info.run_after) == next(iter(past[-1:] or allowed[:1]), None)


@given(st.integers(1, 500_000), MOMENTS, st.integers(1, 40), st.booleans())
def test_fixed_steps_fire_a_whole_number_of_steps_from_the_start(
    seconds: int, since: datetime, count: int, interval: bool
) -> None:
    step = timedelta(seconds=seconds)
    timetable = DeltaDataIntervalTimetable(step) if interval else DeltaTriggerTimetable(step)
    first = 1 if interval else 0
    assert times(timetable, since, count) == [since + step * (n + first) for n in range(count)]


@given(
    st.sampled_from(["*/5 * * * *", "0 * * * *", "0 6 * * *", "30 2 * * *", "0 0 * * MON"]),
    st.sampled_from(ZONES),
    st.booleans(),
    st.lists(st.integers(-90, 60 * 24 * 3), min_size=1, max_size=25),
)
@settings(deadline=None)
def test_a_clock_that_goes_any_way_makes_no_time_twice(cron: str, zone: str, catchup: bool, minutes: list[int]) -> None:
    """Whatever the clock does, also going back, logical dates increase strictly, in both readings."""
    for timetable in (CronTriggerTimetable(cron, timezone=zone), CronDataIntervalTimetable(cron, zone)):
        now, last, made = START + timedelta(days=2), None, []
        for step in minutes:
            now += timedelta(minutes=step)
            for _ in range(5):
                info = timetable.next_dagrun_info(
                    last_automated_data_interval=last, restriction=TimeRestriction(START, catchup=catchup), now=now
                )
                assert info is not None
                if info.run_after > now:
                    break
                made.append(info.logical_date)
                last = info.data_interval
        assert made == sorted(set(made))
