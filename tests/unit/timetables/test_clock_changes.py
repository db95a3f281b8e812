"""Cron and the clock: the cases in which other schedulers lost, doubled or shifted runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from treadle.timetables.base import TimeRestriction
from treadle.timetables.cron import CronTriggerTimetable
from treadle.timetables.wall_clock import WallClock


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def fires(cron: str, zone: str, start: str, count: int, **policies: str) -> list[datetime]:
    clock = WallClock(cron, zone, **policies)
    found: list[datetime] = []
    cursor = at(start) - timedelta(seconds=1)
    for _ in range(count):
        following = clock.after(cursor)
        assert following is not None
        found.append(following)
        cursor = following
    return found


def on_local_day(cron: str, zone: str, day: str, **policies: str) -> list[datetime]:
    clock = WallClock(cron, zone, **policies)
    found = []
    cursor = clock.after(at(day) - timedelta(days=2))
    while cursor is not None and cursor < at(day) + timedelta(days=3):
        if cursor.astimezone(clock.offsets.zone).date().isoformat() == day:
            found.append(cursor)
        cursor = clock.after(cursor)
    return found


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 7,9 * * *", ["2020-03-07T15:00", "2020-03-07T17:00", "2020-03-08T14:00", "2020-03-08T16:00"]),
        ("0 7-8 * * *", ["2020-03-07T15:00", "2020-03-07T16:00", "2020-03-08T14:00", "2020-03-08T15:00"]),
    ],
)
def test_fixed_hours_stay_on_the_wall_clock_across_a_change(cron: str, expected: list[str]) -> None:
    """Case A1."""
    assert fires(cron, "America/Los_Angeles", "2020-03-07", 4) == [at(one) for one in expected]


def test_a_time_that_the_clock_skips_fires_at_the_first_instant_after_the_gap() -> None:
    """Case A2."""
    expected = [at("2024-03-09T08:00"), at("2024-03-10T08:00"), at("2024-03-11T07:00")]
    assert fires("0 2 * * *", "America/Chicago", "2024-03-09T06:00", 3) == expected
    assert fires("30 2 * * *", "America/Chicago", "2024-03-10T06:00", 1) == [at("2024-03-10T08:00")]


def test_a_time_that_comes_twice_fires_once() -> None:
    """Case A2, autumn."""
    assert on_local_day("30 1 * * *", "America/Chicago", "2024-11-03") == [at("2024-11-03T06:30")]


@pytest.mark.parametrize(("day", "count"), [("2024-03-10", 46), ("2024-11-03", 50), ("2024-06-01", 48)])
def test_a_wildcard_hour_follows_elapsed_time(day: str, count: int) -> None:
    """Case A2, wildcard."""
    assert len(on_local_day("*/30 * * * *", "America/Chicago", day)) == count


def test_every_present_about_a_change_has_a_next_run() -> None:
    """Case A4: catchup off, asked at every minute about the change."""
    timetable = CronTriggerTimetable("20 */4 * * *", timezone="America/Los_Angeles")
    restriction = TimeRestriction(earliest=at("2023-01-01"), catchup=False)
    runs = set()
    for minute in range(7 * 60 + 31):
        now = at("2023-03-12T08:00") + timedelta(minutes=minute)
        info = timetable.next_dagrun_info(last_automated_data_interval=None, restriction=restriction, now=now)
        assert info is not None
        runs.add(info.run_after)
    assert runs == {at("2023-03-12T04:20"), *map(at, ("2023-03-12T08:20", "2023-03-12T11:20", "2023-03-12T15:20"))}


def test_a_long_list_of_hours_goes_on_after_the_autumn_change() -> None:
    """Case A5."""
    cron, zone = "0,15,30,45 6-22 * * *", "Europe/Brussels"
    assert fires(cron, zone, "2023-10-28T20:46", 1) == [at("2023-10-29T05:00")]
    for day in range(27, 31):
        assert len(on_local_day(cron, zone, f"2023-10-{day}")) == 68
    expected = [at(f"2023-10-29T{hour}") for hour in ("06:15", "07:15", "12:15", "18:15")]
    assert on_local_day("15 7,8,13,19 * * *", zone, "2023-10-29") == expected


def test_one_run_a_day_about_the_autumn_change_in_los_angeles() -> None:
    """Case A62."""
    zone, day = "America/Los_Angeles", "2020-11-01"
    assert on_local_day("1 2 * * *", zone, day) == [at("2020-11-01T10:01")]
    assert on_local_day("1 1 * * *", zone, day) == [at("2020-11-01T08:01")]
    assert on_local_day("1 1 * * *", zone, day, doubled="last") == [at("2020-11-01T09:01")]
    both = [at("2020-11-01T08:01"), at("2020-11-01T09:01")]
    assert on_local_day("1 1 * * *", zone, day, doubled="both") == both


def test_the_gap_policy_skip_leaves_a_skipped_time_out() -> None:
    """Case A64."""
    assert on_local_day("0 2 * * *", "America/Chicago", "2024-03-10", gap="skip") == []
    assert len(on_local_day("0 2 * * *", "America/Chicago", "2024-03-11", gap="skip")) == 1


def test_each_policy_of_doubled_and_skipped_times_can_be_had() -> None:
    """Case A64: first and shift where nothing is said."""
    doubled, skipped = ("30 1 * * *", "America/Chicago", "2024-11-03"), ("30 2 * * *", "America/Chicago", "2024-03-10")
    passes = [at("2024-11-03T06:30"), at("2024-11-03T07:30")]
    assert on_local_day(*doubled) == on_local_day(*doubled, doubled="first") == passes[:1]
    assert on_local_day(*doubled, doubled="last") == passes[1:]
    assert on_local_day(*doubled, doubled="both") == passes
    assert on_local_day(*doubled, doubled="none") == []
    assert on_local_day(*skipped) == on_local_day(*skipped, gap="shift") == [at("2024-03-10T08:00")]
    assert on_local_day(*skipped, gap="skip") == []


def test_vienna_half_hours_go_on_without_repeating() -> None:
    """Case G24."""
    expected = [at(f"2017-10-29T0{hour}:30") for hour in range(3)]
    assert fires("30 * * * *", "Europe/Vienna", "2017-10-29", 3) == expected


def test_warsaw_midnight_stays_midnight_after_the_spring_change() -> None:
    """Case G24."""
    assert fires("0 0 * * *", "Europe/Warsaw", "2017-03-26T00:00", 1) == [at("2017-03-26T22:00")]


def test_new_york_weekdays_look_back_and_ahead_across_the_change() -> None:
    """Case G24."""
    clock = WallClock("0 8 * * 1-5", "America/New_York")
    assert clock.before(at("2018-11-04T10:00")) == at("2018-11-02T12:00")
    assert clock.after(at("2018-11-04T10:00")) == at("2018-11-05T13:00")


def test_the_answer_does_not_depend_on_how_near_the_change_one_asks() -> None:
    """Case G24: local 02:01 does not exist on that day."""
    clock = WallClock("1 2 * * *", "Europe/Berlin")
    for text in ("2020-03-28T12:00", "2020-03-29T00:58:55", "2020-03-29T00:59:55"):
        assert clock.after(at(text)) == at("2020-03-29T01:00")


def test_a_whole_day_that_a_zone_skipped_fires_once_after_it() -> None:
    """Samoa had no 30 December 2011."""
    found = fires("0 0 * * *", "Pacific/Apia", "2011-12-29T10:00", 3)
    assert found == [at("2011-12-29T10:00"), at("2011-12-30T10:00"), at("2011-12-31T10:00")]


def test_a_time_far_ahead_is_not_found_before_the_second_pass_of_a_doubled_hour() -> None:
    """Weekly, asked between the two passes: the coming week must not hide the second pass."""
    clock = WallClock("30 1 * * 0", "America/Chicago", doubled="both")
    assert clock.after(at("2024-11-03T06:45")) == at("2024-11-03T07:30")
    assert clock.before(at("2024-11-03T07:15")) == at("2024-11-03T06:30")
