"""Cron text: what it means, what is refused, and the search against croniter on wall-clock time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from croniter import croniter
from hypothesis import given
from hypothesis import strategies as st

from treadle.timetables.base import InvalidSchedule
from treadle.timetables.cron_expression import PRESETS, parse_cron


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def times(cron: str, start: str, count: int) -> list[str]:
    found = []
    cursor = wall(start)
    for _ in range(count):
        following = parse_cron(cron).at_or_after(cursor + timedelta(seconds=1))
        assert following is not None
        found.append(following.isoformat(timespec="minutes"))
        cursor = following
    return found


def dates(cron: str, year: int) -> list[str]:
    found = []
    cursor = parse_cron(cron).at_or_after(datetime(year, 1, 1, tzinfo=UTC).replace(tzinfo=None))
    while cursor is not None and cursor.year == year:
        found.append(f"{cursor.month}-{cursor.day}")
        cursor = parse_cron(cron).at_or_after(cursor + timedelta(minutes=1))
    return found


def test_two_restricted_day_fields_mean_or() -> None:
    """Case G15."""
    assert times("0 11 1-7 * FRI", "2024-10-08", 1) == ["2024-10-11T11:00"]
    assert times("* * 1 5 1-4", "2024-05-20T09:57", 1) == ["2024-05-20T09:58"]
    assert times("0 0 1-31 * 4", "2024-12-01", 1) == ["2024-12-02T00:00"]


def test_the_note_says_or_and_offers_the_ordinal_weekday() -> None:
    """Case G15."""
    (note,) = parse_cron("0 11 1-7 * FRI").notes
    assert "or whose day of the week is fri" in note
    assert "FRI#1" in note
    assert parse_cron("0 11 * * FRI").notes == ()
    assert times("0 11 * * FRI#1", "2024-10-08", 1) == ["2024-11-01T11:00"]


def test_a_day_that_the_month_lacks_leaves_the_weekdays() -> None:
    """Case G17."""
    expected = [f"2026-06-{day:02}T14:48" for day in (7, 14, 21, 28)]
    assert times("48 14 31 jun sun", "2026-01-01", 4) == expected


def test_the_29th_of_february_is_found_across_2100() -> None:
    """Case G19."""
    assert times("0 0 29 2 *", "2026-01-01", 1) == ["2028-02-29T00:00"]
    assert times("0 0 29 2 *", "2096-03-01", 1) == ["2104-02-29T00:00"]
    assert len(dates("0 2 29 2 0", 2024)) == 5


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *"])
def test_an_expression_that_can_never_fire_is_refused(cron: str) -> None:
    """Case G21."""
    with pytest.raises(InvalidSchedule, match="can never fire"):
        parse_cron(cron)


def test_l_after_a_weekday_is_its_last_of_the_month() -> None:
    """Case G23."""
    assert times("0 0 * * 1L", "2017-10-01", 1) == ["2017-10-30T00:00"]
    expected = ["1-30", "2-27", "3-27", "4-24", "5-29", "6-26", "7-31", "8-28", "9-25", "10-30", "11-27", "12-25"]
    for cron in ("0 0 * * 5L", "0 0 * * FRIL", "0 0 * * L5"):
        assert dates(cron, 2026) == expected
    assert dates("0 0 * * MON#5", 2026) == ["3-30", "6-29", "8-31", "11-30"]
    assert dates("0 0 * * 7L", 2026) == dates("0 0 * * SUNL", 2026) == dates("0 0 * * 0L", 2026)


def test_l_as_a_day_is_the_last_of_the_month() -> None:
    assert dates("0 0 L 2 *", 2024) == ["2-29"]
    assert dates("0 0 15,L 2 *", 2023) == ["2-15", "2-28"]


def test_w_is_the_nearest_working_day() -> None:
    assert times("0 0 1W 6 *", "2024-05-20", 1) == ["2024-06-03T00:00"]
    assert times("0 0 15W 6 *", "2024-05-20", 1) == ["2024-06-14T00:00"]
    assert times("0 0 30W 6 *", "2024-05-20", 1) == ["2024-06-28T00:00"]


def test_the_field_that_is_wrong_is_named_with_what_it_may_hold() -> None:
    with pytest.raises(InvalidSchedule, match=r"the field of the hour is '25', expected 0 to 23\.$"):
        parse_cron("0 25 * * *")
    with pytest.raises(InvalidSchedule, match=r"minute is '61', .*; the field of the month is 'foo', expected 1 to"):
        parse_cron("61 0 1 foo *")


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("35 * 0-l/8 8 *", "cannot be read"),
        ("60 * * * *", "cannot be read"),
        ("*/0 * * * *", "cannot be read"),
        ("a b c d e", "cannot be read"),
        ("* * * *", "has 4 fields; expected 5"),
        ("", "has 0 fields"),
        ("0 0 1 1 * 0 2026", "has 7 fields"),
        ("H H * * *", "chosen by chance"),
        ("0 R(1-5) * * *", "chosen by chance"),
        ("@dayly", "is no preset. The presets are @hourly, @daily"),
        ("0 0 * * MON#6", "cannot be read"),
    ],
)
def test_bad_text_is_refused_with_its_reason(cron: str, words: str) -> None:
    """Cases G17 and G21: a clean error, never a loop."""
    with pytest.raises(InvalidSchedule) as caught:
        parse_cron(cron)
    assert words in str(caught.value)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("preset", "following"),
    [
        ("@hourly", "2024-05-20T10:00"),
        ("@daily", "2024-05-21T00:00"),
        ("@midnight", "2024-05-21T00:00"),
        ("@weekly", "2024-05-26T00:00"),
        ("@monthly", "2024-06-01T00:00"),
        ("@quarterly", "2024-07-01T00:00"),
        ("@yearly", "2025-01-01T00:00"),
        ("@annually", "2025-01-01T00:00"),
    ],
)
def test_presets(preset: str, following: str) -> None:
    assert times(preset, "2024-05-20T09:57", 1) == [following]
    assert preset in PRESETS


def test_a_sixth_field_is_the_second() -> None:
    expression = parse_cron("*/5 12 * * * 20,40")
    assert expression.at_or_after(wall("2024-05-20T12:00:21")) == wall("2024-05-20T12:00:40")
    assert expression.at_or_after(wall("2024-05-20T12:00:41")) == wall("2024-05-20T12:05:20")
    assert expression.at_or_before(wall("2024-05-20T12:05:19.999999")) == wall("2024-05-20T12:00:40")
    assert expression.at_or_before(wall("2024-05-20T11:59:59")) == wall("2024-05-19T12:55:40")


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    part = st.one_of(
        number.map(str),
        st.tuples(number, number)
        .map(lambda two: f"{min(two)}-{max(two)}")
        .filter(lambda text: len(set(text.split("-"))) > 1),
        st.integers(2, max(2, high // 2)).map(lambda step: f"*/{step}"),
    )
    return st.one_of(st.just("*"), st.lists(part, min_size=1, max_size=3).map(",".join))


CRONS = st.tuples(
    _field(0, 59),
    _field(0, 23),
    st.one_of(_field(1, 31), st.just("L"), st.integers(1, 28).map(lambda day: f"{day},L")),
    _field(1, 12),
    st.one_of(_field(0, 6), st.just("*")),
).map(" ".join)


@given(cron=CRONS, start=st.datetimes(wall("1990-01-01"), wall("2060-01-01")))
def test_the_search_agrees_with_croniter_on_wall_clock_time(cron: str, start: datetime) -> None:
    try:
        expression = parse_cron(cron)
    except InvalidSchedule:
        return
    ahead, back = croniter(cron, start), croniter(cron, start)
    cursor, past = start, start
    for _ in range(3):
        following = expression.at_or_after(cursor.replace(microsecond=0) + timedelta(seconds=1))
        assert following == ahead.get_next(datetime)
        assert following is not None
        assert expression.matches(following)
        cursor = following
        previous = expression.at_or_before(past - timedelta(microseconds=1))
        assert previous == back.get_prev(datetime)
        assert previous is not None
        past = previous
