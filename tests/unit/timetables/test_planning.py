"""What is planned for a DAG at one moment, against a list of all its times and the policies' plain words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.timetables import (
    ContinuousTimetable,
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    DagRunInfo,
    DataInterval,
    DeltaTriggerTimetable,
    EventsTimetable,
    OnceTimetable,
    TimeRestriction,
    Timetable,
)
from treadle.timetables.adapted import AdaptedTimetable
from treadle.timetables.planning import GRACE, Plan, Situation, plan

START = datetime(2026, 1, 15, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = 24 * 60

TIMETABLES: list[Timetable] = [
    CronTriggerTimetable("*/7 * * * *", timezone="UTC"),
    CronTriggerTimetable("15 3,9,15 * * *", timezone="Europe/Vienna"),
    CronDataIntervalTimetable("*/20 * * * *", "UTC"),
    CronDataIntervalTimetable("0 6 * * *", "America/New_York"),
    DeltaTriggerTimetable(timedelta(minutes=11)),
    EventsTimetable([START + n * n * MINUTE for n in range(38)]),
]


@cache
def all_runs(timetable: Timetable) -> list[Any]:
    """Return the first 400 runs, which is more than a day of any of them."""
    found: list[Any] = []
    while len(found) < 400:
        last = found[-1].data_interval if found else None
        info = timetable.next_dagrun_info(
            last_automated_data_interval=last, restriction=TimeRestriction(START, catchup=True), now=START
        )
        if info is None:
            break
        found.append(info)
    return found


@given(
    timetable=st.sampled_from(TIMETABLES),
    adapted=st.booleans(),
    catchup=st.sampled_from([True, False, "none"]),
    made=st.integers(1, 60),
    now=st.integers(0, DAY).map(lambda minutes: START + minutes * MINUTE),
    resumed=st.none() | st.integers(0, DAY).map(lambda minutes: START + minutes * MINUTE),
    held=st.none() | st.integers(0, DAY).map(lambda minutes: START + minutes * MINUTE),
    skips=st.booleans(),
)
def test_the_plan_is_what_the_policies_say_of_the_list_of_all_times(
    timetable: Timetable,
    adapted: bool,
    catchup: Any,
    made: int,
    now: datetime,
    resumed: datetime | None,
    held: datetime | None,
    skips: bool,
) -> None:
    runs = all_runs(timetable)
    last = runs[min(made, len(runs)) - 1]
    coming = [one for one in runs if one.logical_date > last.logical_date]
    overdue = [one for one in coming if one.run_after <= now]
    bound = max(min(now - GRACE, held or now), resumed or START)
    # A clock that went back may stand before the moment at which the DAG was unpaused.
    future = [one for one in coming if one.run_after > now and (catchup != "none" or skips or one.run_after >= bound)]

    if skips:
        due, left_out = [], overdue
    elif catchup is True:
        due, left_out = overdue[:1], []
    else:
        allowed = [one for one in overdue if catchup is False or one.run_after >= bound]
        due = allowed[-1:]
        left_out = [one for one in overdue if one not in due]
    following = (overdue[1:] + future)[:1] if catchup is True and not skips and overdue else future[:1]

    asked = AdaptedTimetable(timetable) if adapted else timetable
    found = plan(
        asked, TimeRestriction(START, catchup=catchup), Situation(now, last.data_interval, resumed, held, skips)
    )
    assert [found.due] == (due or [None])
    assert [found.following] == (following or [None])
    assert [one.run_after for one in found.missed][:100] == [one.run_after for one in left_out][:100]
    assert sum(one.slots or 0 for one in found.missed) == len(left_out)
    assert found.last == (last if found.due or not left_out else left_out[-1]).data_interval
    for one in found.missed:
        if resumed is not None and one.run_after < resumed:
            assert one.reason == "paused" or skips
        elif not skips:
            assert one.reason == ("overlap" if held is not None and one.run_after >= held else "late")


@pytest.mark.parametrize("catchup", [True, False, "none"])
def test_a_dag_that_never_ran_misses_nothing(catchup: Any) -> None:
    timetable = CronTriggerTimetable("0 * * * *", timezone="UTC")
    now = START + timedelta(hours=5, minutes=20)
    found = plan(timetable, TimeRestriction(START, catchup=catchup), Situation(now, resumed_at=now))
    expected = {True: START, False: START + timedelta(hours=5), "none": None}[catchup]
    assert (found.due and found.due.run_after) == expected
    assert found.missed == ()


@pytest.mark.parametrize("adapted", [False, True])
@pytest.mark.parametrize("skips", [False, True])
def test_a_long_pause_is_left_behind_at_one_look(adapted: bool, skips: bool) -> None:
    minutely: Timetable = CronTriggerTimetable("* * * * *", timezone="UTC")
    minutely = AdaptedTimetable(minutely) if adapted else minutely
    restriction, now = TimeRestriction(START, catchup="none"), START + timedelta(days=20, seconds=30)
    found = plan(minutely, restriction, Situation(now, DataInterval.exact(START), resumed_at=now, skips=skips))
    assert found.missed[100].slots is None
    assert (found.due, found.following) == (None, DagRunInfo.exact(START + timedelta(days=20, minutes=1)))
    assert found.last == DataInterval.exact(START + timedelta(days=20))
    again = plan(minutely, restriction, Situation(now + MINUTE, found.last, resumed_at=now))
    assert again.due == found.following
    assert again.missed == ()


@pytest.mark.parametrize("timetable", [OnceTimetable(), ContinuousTimetable()])
def test_what_does_not_come_again_waits_whatever_the_overlap_policy_is(timetable: Timetable) -> None:
    found = plan(timetable, TimeRestriction(START), Situation(START + MINUTE, skips=True))
    assert found.due is not None
    assert found.missed == ()


def test_what_happens_once_is_never_missed() -> None:
    once = OnceTimetable()
    found = plan(once, TimeRestriction(START), Situation(START + timedelta(days=3)))
    assert found.due is not None
    assert found.following is None
    again = plan(once, TimeRestriction(START), Situation(START + timedelta(days=3), DataInterval.exact(START)))
    assert again == Plan(None, None, DataInterval.exact(START))
