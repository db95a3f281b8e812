"""Which run comes next: start and end dates, catchup, pauses, both styles, and the timetables without a
clock.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.timetables import (
    ContinuousTimetable,
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    DagRunInfo,
    DataInterval,
    DeltaDataIntervalTimetable,
    DeltaTriggerTimetable,
    MultipleCronTriggerTimetable,
    NullTimetable,
    OnceTimetable,
    TimeRestriction,
    Timetable,
)
from treadle.timetables.base import Catchup, InvalidSchedule

DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def following(
    timetable: Timetable,
    now: str,
    last: DataInterval | None = None,
    *,
    start: str | None = None,
    end: str | None = None,
    catchup: Catchup = False,
    unpaused: str | None = None,
) -> DagRunInfo | None:
    restriction = TimeRestriction(
        earliest=at(start) if start else None,
        latest=at(end) if end else None,
        catchup=catchup,
        not_before=at(unpaused) if unpaused else None,
    )
    return timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction, now=at(now))


def made(timetable: Timetable, now: str, last: DataInterval | None = None, **options: object) -> list[DagRunInfo]:
    """Return the runs that a scheduler makes at ``now``: it asks again until the next is not due."""
    runs: list[DagRunInfo] = []
    while len(runs) < 1000:
        info = following(timetable, now, last, **options)  # type: ignore[arg-type]
        if info is None or info.run_after > at(now):
            return runs
        runs.append(info)
        last = info.data_interval
    raise AssertionError("endless runs")


def daily(style: str = "trigger") -> Timetable:
    if style == "trigger":
        return CronTriggerTimetable("0 6 * * *", timezone="America/Chicago")
    return CronDataIntervalTimetable("0 6 * * *", "America/Chicago")


def test_an_interval_style_daily_run_covers_the_last_whole_day() -> None:
    """Case A8."""
    (run,) = made(daily("interval"), "2023-01-20T18:15")
    assert run.data_interval == DataInterval(at("2023-01-19T12:00"), at("2023-01-20T12:00"))
    assert run.logical_date == at("2023-01-19T12:00")
    assert run.run_after == at("2023-01-20T12:00")


def test_a_trigger_style_daily_run_waits_for_the_next_time() -> None:
    """Case A8: the DAG has no start date and the time passed long ago."""
    assert made(daily(), "2023-01-20T18:15") == []
    run = following(daily(), "2023-01-20T18:15")
    assert run == DagRunInfo(at("2023-01-21T12:00"), DataInterval.exact(at("2023-01-21T12:00")), at("2023-01-21T12:00"))


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ({"minutes": 30}, "every 30 min"),
        ({"days": 1}, "every 1 day"),
        ({"days": 2, "hours": 6}, "every 2 days 6 h"),
        ({"seconds": 90.5}, "every 1 min 30.5 s"),
    ],
)
def test_a_span_of_time_is_told_in_words(span: dict[str, float], words: str) -> None:
    assert DeltaTriggerTimetable(timedelta(**span)).summary == words


def test_the_style_is_told_in_the_summary() -> None:
    """Case A8: the product must say which."""
    assert "covers the interval" in daily("interval").summary
    assert daily().summary == "0 6 * * * (America/Chicago)"


@pytest.mark.parametrize(
    "timetable",
    [DeltaDataIntervalTimetable(DAY), CronDataIntervalTimetable("@daily", "UTC")],
    ids=["delta", "cron"],
)
def test_unpausing_without_catchup_makes_exactly_one_run(timetable: Timetable) -> None:
    """Case A9."""
    (run,) = made(timetable, "2018-11-19T10:00", start="2018-01-01")
    assert run.data_interval == DataInterval(at("2018-11-18"), at("2018-11-19"))


@pytest.mark.parametrize("style", ["trigger", "interval"])
def test_catchup_none_waits_for_the_next_time(style: str) -> None:
    """Case A10."""
    monthly: Timetable = CronTriggerTimetable("0 3 1 * *", timezone="UTC")
    if style == "interval":
        monthly = CronDataIntervalTimetable("0 3 1 * *", "UTC")
    unpaused = "2024-05-27"
    run = following(monthly, unpaused, start="2024-01-01", catchup="none")
    assert run is not None
    assert run.run_after == at("2024-06-01T03:00")
    for now, count in (("2024-05-28", 0), ("2024-06-01T02:59", 0), ("2024-06-01T03:00:05", 1)):
        runs = made(monthly, now, start="2024-01-01", catchup="none", unpaused=unpaused)
        assert len(runs) == count
    assert len(made(monthly, "2024-05-27", start="2024-01-01", catchup="last")) == 1


def test_catchup_none_makes_up_for_nothing_after_a_second_pause() -> None:
    hourly = CronTriggerTimetable("@hourly", timezone="UTC")
    last = DataInterval.exact(at("2024-05-01T10:00"))
    assert made(hourly, "2024-05-01T20:30", last, catchup="none", unpaused="2024-05-01T20:30") == []
    (run,) = made(hourly, "2024-05-01T21:00:02", last, catchup="none", unpaused="2024-05-01T20:30")
    assert run.run_after == at("2024-05-01T21:00")


def test_a_pause_of_minutes_gives_one_run() -> None:
    """Case A11."""
    minutely = CronDataIntervalTimetable("* * * * *", "UTC")
    last = DataInterval(at("2024-05-01T11:30"), at("2024-05-01T11:31"))
    (run,) = made(minutely, "2024-05-01T11:35:30", last, start="2024-05-01")
    assert run.data_interval == DataInterval(at("2024-05-01T11:34"), at("2024-05-01T11:35"))
    trigger = CronTriggerTimetable("* * * * *", timezone="UTC")
    last = DataInterval.exact(at("2024-05-01T11:31"))
    (run,) = made(trigger, "2024-05-01T11:35:30", last, start="2024-05-01")
    assert run.run_after == at("2024-05-01T11:35")


@pytest.mark.parametrize("catchup", [True, "all"])
def test_catchup_makes_every_missed_run(catchup: Catchup) -> None:
    runs = made(CronTriggerTimetable("@daily", timezone="UTC"), "2025-03-10T12:00", start="2025-01-01", catchup=catchup)
    assert [run.logical_date for run in runs] == [at("2025-01-01") + day * DAY for day in range(69)]
    runs = made(CronDataIntervalTimetable("@daily", "UTC"), "2025-03-10T12:00", start="2025-01-01", catchup=catchup)
    assert runs[0].data_interval == DataInterval(at("2025-01-01"), at("2025-01-02"))
    assert len(runs) == 68


def test_an_end_date_ends_the_runs() -> None:
    trigger = CronTriggerTimetable("@daily", timezone="UTC")
    runs = made(trigger, "2025-02-01", start="2025-01-01", end="2025-01-03", catchup=True)
    assert [run.logical_date.day for run in runs] == [1, 2, 3]
    assert made(trigger, "2025-02-01", start="2025-01-01", end="2025-01-03") == []


def test_a_start_date_between_two_times_starts_at_the_next() -> None:
    run = following(CronTriggerTimetable("@daily", timezone="UTC"), "2025-01-01", start="2025-01-05T12:00")
    assert run is not None
    assert run.run_after == at("2025-01-06")
    run = following(CronDataIntervalTimetable("@daily", "UTC"), "2025-01-01", start="2025-01-05T12:00")
    assert run is not None
    assert run.data_interval == DataInterval(at("2025-01-06"), at("2025-01-07"))


@pytest.mark.parametrize(
    ("run_immediately", "now", "expected"),
    [
        (False, "2025-01-01T00:04", "2025-01-01T00:00"),
        (False, "2025-01-01T00:07", "2025-01-01T01:00"),
        (True, "2025-01-01T00:59", "2025-01-01T00:00"),
        (timedelta(minutes=30), "2025-01-01T00:30", "2025-01-01T00:00"),
        (timedelta(minutes=30), "2025-01-01T00:31", "2025-01-01T01:00"),
    ],
)
def test_the_first_run_without_a_start_date(run_immediately: bool | timedelta, now: str, expected: str) -> None:
    """The gap is an hour: a tenth of it is 6 minutes."""
    timetable = CronTriggerTimetable("@hourly", timezone="UTC", run_immediately=run_immediately)
    run = following(timetable, now)
    assert run is not None
    assert run.run_after == at(expected)


def test_several_expressions_fire_together_once() -> None:
    timetable = MultipleCronTriggerTimetable("0 */6 * * *", "0 12,13 * * *", timezone="UTC")
    runs = made(timetable, "2025-01-01T23:00", start="2025-01-01", catchup=True)
    assert [run.run_after.hour for run in runs] == [0, 6, 12, 13, 18]
    assert timetable.summary == "0 */6 * * * or 0 12,13 * * * (UTC)"


def test_a_trigger_may_cover_an_interval_before_it() -> None:
    timetable = CronTriggerTimetable("@daily", timezone="UTC", interval=DAY)
    run = following(timetable, "2025-01-02", start="2025-01-02")
    assert run is not None
    assert run.run_after == at("2025-01-02")
    assert run.data_interval == DataInterval(at("2025-01-01"), at("2025-01-02"))
    assert run.logical_date == at("2025-01-01")


def test_a_lengthened_interval_never_brings_the_logical_date_back() -> None:
    last = DataInterval.exact(at("2025-01-01"))
    run = following(CronTriggerTimetable("@daily", timezone="UTC", interval=2 * DAY), "2025-01-02", last)
    assert run is not None
    assert run.logical_date > last.start


def test_a_changed_schedule_goes_on_from_an_aligned_interval() -> None:
    last = DataInterval(at("2025-01-01T14:00"), at("2025-01-01T15:00"))
    run = following(CronDataIntervalTimetable("@daily", "UTC"), "2025-01-02", last, start="2024-01-01", catchup=True)
    assert run is not None
    assert run.logical_date > last.start
    assert run.data_interval == DataInterval(at("2025-01-02"), at("2025-01-03"))


def test_once_runs_once() -> None:
    (run,) = made(OnceTimetable(), "2025-01-01T10:00", start="2025-01-01")
    assert run.logical_date == at("2025-01-01")
    assert made(OnceTimetable(), "2024-12-31", start="2025-01-01") == []
    assert following(OnceTimetable(), "2025-01-01", run.data_interval) is None
    assert following(OnceTimetable(), "2025-01-01", start="2025-01-01", end="2024-01-01") is None


def test_never_never_runs() -> None:
    assert following(NullTimetable(), "2025-01-01") is None
    assert not NullTimetable().can_be_scheduled
    assert NullTimetable().infer_manual_data_interval(run_after=at("2025-01-01")).end == at("2025-01-01")


def test_continuous_runs_follow_one_another_without_a_hole() -> None:
    timetable = ContinuousTimetable()
    assert timetable.active_runs_limit == 1
    first = following(timetable, "2025-01-01T10:00", start="2025-01-01")
    assert first is not None
    assert first.data_interval == DataInterval(at("2025-01-01"), at("2025-01-01T10:00"))
    second = following(timetable, "2025-01-01T10:05", first.data_interval, start="2025-01-01")
    assert second is not None
    assert second.data_interval == DataInterval(at("2025-01-01T10:00"), at("2025-01-01T10:05"))
    assert following(timetable, "2025-01-01T10:06", second.data_interval, end="2025-01-01T10:05") is None


def test_continuous_logical_dates_are_unique_even_for_runs_of_no_length() -> None:
    timetable = ContinuousTimetable()
    last, seen = None, set()
    for _ in range(5):
        info = following(timetable, "2025-01-01", last)
        assert info is not None
        seen.add(info.logical_date)
        last = info.data_interval
    assert len(seen) == 5


def test_delta_triggers_count_from_the_start_date() -> None:
    timetable = DeltaTriggerTimetable(timedelta(hours=7))
    runs = made(timetable, "2025-01-02", start="2025-01-01T01:00", catchup=True)
    assert [run.run_after.hour for run in runs] == [1, 8, 15, 22]
    (run,) = made(timetable, "2025-01-02", start="2025-01-01T01:00")
    assert run.run_after == at("2025-01-01T22:00")


def test_delta_triggers_without_a_start_date_start_now() -> None:
    timetable = DeltaTriggerTimetable(HOUR)
    (run,) = made(timetable, "2025-01-01T10:17:30")
    assert run.run_after == at("2025-01-01T10:17:30")
    second = following(timetable, "2025-01-01T10:20", run.data_interval)
    assert second is not None
    assert second.run_after == at("2025-01-01T11:17:30")


def test_manual_runs() -> None:
    now = at("2025-01-15T10:17")
    assert CronTriggerTimetable("@daily", timezone="UTC").infer_manual_data_interval(run_after=now) == DataInterval(
        now, now
    )
    with_interval = CronTriggerTimetable("@daily", timezone="UTC", interval=DAY)
    assert with_interval.infer_manual_data_interval(run_after=now) == DataInterval(now - DAY, now)
    whole_day = CronDataIntervalTimetable("@daily", "UTC").infer_manual_data_interval(run_after=now)
    assert whole_day == DataInterval(at("2025-01-14"), at("2025-01-15"))
    assert DeltaDataIntervalTimetable(DAY).infer_manual_data_interval(run_after=now) == DataInterval(now - DAY, now)


@pytest.mark.parametrize("step", [timedelta(0), -DAY])
def test_a_step_that_does_not_move_forward_is_refused(step: timedelta) -> None:
    with pytest.raises(InvalidSchedule, match="does not move forward"):
        DeltaTriggerTimetable(step)


STYLES = st.sampled_from(
    [
        CronTriggerTimetable("*/7 * * * *", timezone="Europe/Vienna"),
        CronDataIntervalTimetable("0 2 * * *", "America/Chicago"),
        MultipleCronTriggerTimetable("0 2 * * *", "30 1 * * 0", timezone="America/Chicago"),
        DeltaTriggerTimetable(timedelta(hours=5, minutes=13)),
        DeltaDataIntervalTimetable(timedelta(hours=5, minutes=13)),
    ]
)


@given(
    timetable=STYLES,
    catchup=st.sampled_from([True, False, "none"]),
    start=st.none() | st.datetimes(datetime(2024, 2, 1), datetime(2024, 12, 1)),  # noqa: DTZ001
    looks=st.lists(st.integers(0, 30 * 24 * 60), min_size=2, max_size=12),
)
def test_whenever_it_is_asked_runs_move_forward_and_without_catchup_skip_the_backlog(
    timetable: Timetable, catchup: Catchup, start: datetime | None, looks: list[int]
) -> None:
    begin = at("2024-10-20")
    restriction = TimeRestriction(
        earliest=start and start.replace(tzinfo=UTC), catchup=catchup, not_before=begin if catchup == "none" else None
    )
    last: DataInterval | None = None
    for minutes in sorted(looks):
        now = begin + minutes * MINUTE
        due = 0
        while due < 3:
            info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction, now=now)
            if info is None or info.run_after > now:
                break
            if last is not None:
                assert info.logical_date > last.start
                assert info.data_interval.end > last.end
            if restriction.earliest is not None:
                assert info.data_interval.start >= restriction.earliest
            if catchup == "none":
                assert info.run_after >= begin
            last = info.data_interval
            due += 1
        if not restriction.makes_up_all:
            assert due <= 1
