"""From the keys of events to the keys of runs: mappers, windows, and what a partition still lacks."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle import (
    AllowedKeyMapper,
    Asset,
    ChainMapper,
    DayWindow,
    FanOutMapper,
    FixedKeyMapper,
    HourWindow,
    IdentityMapper,
    MinimumCount,
    MonthWindow,
    PartitionedAssetTimetable,
    PartitionMapper,
    ProductMapper,
    QuarterWindow,
    RollupMapper,
    SegmentWindow,
    StartOfDayMapper,
    StartOfHourMapper,
    StartOfMonthMapper,
    StartOfQuarterMapper,
    StartOfWeekMapper,
    StartOfYearMapper,
    WeekWindow,
    Window,
    YearWindow,
)
from treadle.errors import DagError
from treadle.partition_documents import Partitioning, dumps, loads

DAY = "%Y-%m-%d"
moment = datetime.fromisoformat
MONTHLY = RollupMapper(upstream_mapper=StartOfMonthMapper(input_format=DAY), window=MonthWindow())


@pytest.mark.parametrize(
    ("mapper", "key", "expected"),
    [
        (IdentityMapper(), "eu", ("eu",)),
        (AllowedKeyMapper(("eu", "us")), "eu", ("eu",)),
        (AllowedKeyMapper(("eu", "us")), "asia", ()),
        (FixedKeyMapper("all"), "eu", ("all",)),
        (StartOfHourMapper(), "2024-02-29T13:59:59", ("2024-02-29T13",)),
        (StartOfDayMapper(), "2024-02-29T13:59:59", ("2024-02-29",)),
        (StartOfWeekMapper(), "2024-03-03T00:00:00", ("2024-02-26",)),
        (StartOfMonthMapper(), "2024-02-29T13:59:59", ("2024-02",)),
        (StartOfQuarterMapper(), "2024-06-30T00:00:00", ("2024-Q2",)),
        (StartOfYearMapper(), "2024-02-29T13:59:59", ("2024",)),
        (StartOfDayMapper("Europe/Berlin", "%Y-%m-%dT%H:%M:%S%z"), "2024-02-29T23:30:00+00:00", ("2024-03-01",)),
        (ProductMapper(IdentityMapper(), StartOfDayMapper()), "eu|2024-02-29T01:00:00", ("eu|2024-02-29",)),
        (ChainMapper(StartOfDayMapper(), StartOfMonthMapper(input_format=DAY)), "2024-02-29T01:00:00", ("2024-02",)),
        (
            FanOutMapper(
                upstream_mapper=StartOfWeekMapper(input_format=DAY),
                window=WeekWindow(),
                downstream_mapper=StartOfDayMapper(),
            ),
            "2024-02-29",
            ("2024-02-26", "2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02", "2024-03-03"),
        ),
    ],
)
def test_a_key_is_mapped(mapper: PartitionMapper, key: str, expected: tuple[str, ...]) -> None:
    assert tuple(mapper.downstream_keys(key)) == expected


@pytest.mark.parametrize(
    ("mapper", "key"), [(StartOfDayMapper(), "yesterday"), (ProductMapper(IdentityMapper(), IdentityMapper()), "eu")]
)
def test_a_key_of_another_form_is_refused(mapper: PartitionMapper, key: str) -> None:
    with pytest.raises(ValueError, match=r"does not match|parts"):
        mapper.downstream_keys(key)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RollupMapper(upstream_mapper=StartOfWeekMapper(output_format="%G-W%V"), window=WeekWindow()),
        lambda: RollupMapper(upstream_mapper=StartOfDayMapper(output_format="%Y-%m"), window=DayWindow()),
        lambda: FixedKeyMapper("x" * 251),
        lambda: FixedKeyMapper("a\0b"),
        lambda: AllowedKeyMapper("eu"),
        lambda: AllowedKeyMapper(["eu", ""]),
    ],
)
def test_a_mapper_that_could_never_work_is_refused_when_its_file_is_read(make: Callable[[], PartitionMapper]) -> None:
    with pytest.raises(DagError, match="expected"):
        make()


@pytest.mark.parametrize(("month", "days"), [("2023-02", 28), ("2024-02", 29), ("2024-04", 30), ("2024-12", 31)])
def test_a_month_waits_for_each_of_its_days_and_for_no_other(month: str, days: int) -> None:
    """Case H14."""
    wanted = [f"{month}-{day:02}" for day in range(1, days + 1)]
    assert list(MONTHLY.expected(month)) == wanted
    assert MONTHLY.is_complete(month, wanted)
    for left_out in wanted:
        rest = [day for day in wanted if day != left_out]
        assert not MONTHLY.is_complete(month, rest)
        assert MONTHLY.missing(month, rest) == [left_out]
    assert not MONTHLY.is_complete(month, [*wanted[1:], "2022-01-01"])


@given(st.dates(min_value=date(1, 1, 1), max_value=date(9998, 12, 31)))
def test_every_day_is_one_of_the_days_that_its_month_waits_for(day: date) -> None:
    key = f"{day.year:04}-{day:%m-%d}"
    mapper = RollupMapper(upstream_mapper=StartOfMonthMapper(input_format=DAY), window=MonthWindow())
    (month,) = mapper.downstream_keys(key)
    expected = [date.fromisoformat(one) for one in mapper.expected(month)]
    assert day in expected
    assert len(expected) == calendar.monthrange(day.year, day.month)[1]
    assert all(later - earlier == timedelta(days=1) for earlier, later in pairwise(expected))


@pytest.mark.parametrize(
    ("window", "begin", "number", "last"),
    [
        (HourWindow(), moment("2024-02-29T13:00"), 60, moment("2024-02-29T13:59")),
        (DayWindow(), moment("2024-02-29T00:00"), 24, moment("2024-02-29T23:00")),
        (WeekWindow(), moment("2024-02-26T00:00"), 7, moment("2024-03-03T00:00")),
        (QuarterWindow(), moment("2024-10-01T00:00"), 3, moment("2024-12-01T00:00")),
        (YearWindow(), moment("2024-01-01T00:00"), 12, moment("2024-12-01T00:00")),
        (MonthWindow(Window.BACKWARD), moment("2024-03-01T00:00"), 29, moment("2024-02-29T00:00")),
    ],
)
def test_a_window_holds_its_shorter_spans(window: Window, begin: datetime, number: int, last: datetime) -> None:
    times = list(window.times(begin))
    assert (len(times), times[-1]) == (number, last)


@pytest.mark.parametrize(("policy", "needed"), [(MinimumCount(2), 2), (MinimumCount(-1), 2), (MinimumCount(9), 3)])
def test_a_policy_may_be_content_with_less(policy: MinimumCount, needed: int) -> None:
    mapper = RollupMapper(
        upstream_mapper=FixedKeyMapper("world"), window=SegmentWindow(["a", "b", "c"]), wait_policy=policy
    )
    assert [mapper.is_complete("world", list("abc")[:number]) for number in range(4)] == [
        number >= needed for number in range(4)
    ]


@pytest.mark.parametrize(
    "mapper",
    [
        IdentityMapper(),
        AllowedKeyMapper(("a", "b")),
        FixedKeyMapper("a"),
        ProductMapper(IdentityMapper(), StartOfWeekMapper("Europe/Paris"), delimiter="/"),
        ChainMapper(StartOfDayMapper(), StartOfMonthMapper(input_format=DAY)),
        MONTHLY,
        RollupMapper(
            upstream_mapper=FixedKeyMapper("x"), window=SegmentWindow(["a", "b"]), wait_policy=MinimumCount(-1)
        ),
        FanOutMapper(
            upstream_mapper=StartOfWeekMapper(),
            window=WeekWindow(Window.BACKWARD),
            downstream_mapper=StartOfDayMapper(),
        ),
    ],
)
def test_a_mapper_comes_back_from_its_document(mapper: PartitionMapper) -> None:
    partitioning = Partitioning(mapper, {("asset", "a"): mapper})
    text = dumps(partitioning)
    assert loads(text) == partitioning
    assert dumps(loads(text)) == text


def test_a_mapper_of_the_users_own_is_refused_since_the_scheduler_runs_no_code_of_files() -> None:
    class Own(PartitionMapper):
        kind = "identity"

    class Disguised(StartOfDayMapper):
        pass

    for mapper in (Own(), Disguised()):
        with pytest.raises(DagError, match="one of treadle's mappers"):
            PartitionedAssetTimetable(Asset("a"), default_partition_mapper=mapper)
