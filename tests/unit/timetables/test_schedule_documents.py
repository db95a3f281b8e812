"""Timetables to documents and back, and what a document may not say."""

from __future__ import annotations

import json
import subprocess
import sys
import timeit
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from dateutil.relativedelta import relativedelta

from treadle.document import DagDocument, ScheduleDocument, dumps, loads
from treadle.timetables import (
    ContinuousTimetable,
    CronDataIntervalTimetable,
    CronTriggerTimetable,
    DeltaDataIntervalTimetable,
    DeltaTriggerTimetable,
    InvalidSchedule,
    MultipleCronTriggerTimetable,
    NullTimetable,
    OnceTimetable,
    TimeRestriction,
    Timetable,
)
from treadle.timetables.factory import from_document, validate

ALL = [
    NullTimetable(),
    OnceTimetable(),
    ContinuousTimetable(),
    CronTriggerTimetable("0 6 * * *", timezone="Europe/Vienna", gap="skip", doubled="both"),
    CronTriggerTimetable("@daily", timezone="UTC", interval=timedelta(days=1), run_immediately=timedelta(hours=1)),
    MultipleCronTriggerTimetable("0 6 * * *", "0 18 * * 0", timezone="UTC", run_immediately=True),
    CronDataIntervalTimetable("@weekly", "America/Chicago", doubled="last"),
    DeltaTriggerTimetable(timedelta(minutes=90), interval=timedelta(minutes=5)),
    DeltaTriggerTimetable(relativedelta(months=1, day=31), timezone="Europe/Vienna"),
    DeltaDataIntervalTimetable(timedelta(days=1)),
    DeltaDataIntervalTimetable(relativedelta(years=1, months=2)),
]


@pytest.mark.parametrize("timetable", ALL, ids=lambda one: one.summary)
def test_a_timetable_comes_back_from_its_json(timetable: Timetable) -> None:
    document = timetable.to_document()
    carried = loads(dumps(DagDocument("d", schedule=document))).schedule
    assert carried == document
    again = from_document(carried)
    assert type(again) is type(timetable)
    assert again.to_document() == document
    asked = {
        "last_automated_data_interval": None,
        "restriction": TimeRestriction(earliest=datetime(2025, 1, 1, tzinfo=UTC)),
        "now": datetime(2026, 5, 5, 5, 5, tzinfo=UTC),
    }
    assert again.next_dagrun_info(**asked) == timetable.next_dagrun_info(**asked)  # type: ignore[arg-type]
    assert json.loads(dumps(DagDocument("d", schedule=document)))["schedule"]["summary"]


def test_one_document_gives_one_timetable() -> None:
    document = ScheduleDocument("cron", ("0 6 * * *",))
    assert from_document(document) is from_document(ScheduleDocument("cron", ("0 6 * * *",)))


def test_the_default_style_is_the_servers() -> None:
    document = ScheduleDocument("cron", ("0 6 * * *",), style="default")
    assert isinstance(from_document(document), CronTriggerTimetable)
    assert isinstance(from_document(document, "interval"), CronDataIntervalTimetable)
    explicit = ScheduleDocument("cron", ("0 6 * * *",), style="trigger")
    assert isinstance(from_document(explicit, "interval"), CronTriggerTimetable)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (ScheduleDocument("lunar"), "'lunar' is not one of none, "),
        (ScheduleDocument("cron"), "expected at least one expression"),
        (ScheduleDocument("cron", ("0 6 * * *",), style="sideways"), "'sideways' is not one of trigger, interval"),
        (ScheduleDocument("cron", ("0 6 * * *", "0 7 * * *"), style="interval"), "exactly one"),
        (ScheduleDocument("cron", ("0 6 * *",)), "has 4 fields"),
        (ScheduleDocument("cron", ("0 0 30 2 *",)), "can never fire"),
        (ScheduleDocument("cron", ("@daily",), timezone="Europe/Wien"), "Did you mean 'Europe/Vienna'"),
        (ScheduleDocument("cron", ("@daily",), timezone="../etc/passwd"), "is not known"),
        (ScheduleDocument("cron", ("@daily",), gap="jump"), "expected one of shift, skip"),
        (ScheduleDocument("cron", ("@daily",), doubled="never"), "expected one of first, last, both, none"),
        (ScheduleDocument("cron", ("@daily",), interval_seconds=-1), "is negative"),
        (ScheduleDocument("delta"), "has no step"),
        (ScheduleDocument("delta", seconds=0), "does not move forward"),
        (ScheduleDocument("delta", relative=(("fortnights", 1),)), "is not known"),
        (ScheduleDocument("delta", relative=(("months", 1), ("day", 99))), "day"),
    ],
)
def test_a_document_that_describes_no_timetable_is_refused(document: ScheduleDocument, words: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        validate(document)
    assert words in str(caught.value)


def test_a_zone_may_be_given_as_an_object() -> None:
    assert CronTriggerTimetable("@daily", timezone=ZoneInfo("Europe/Vienna")).timezone == "Europe/Vienna"
    assert CronTriggerTimetable("@daily", timezone=UTC).timezone == "UTC"
    with pytest.raises(InvalidSchedule, match="has no IANA name"):
        CronTriggerTimetable("@daily", timezone=timezone(timedelta(hours=5, minutes=30)))


def test_the_next_run_is_computed_in_tens_of_microseconds() -> None:
    """Bounded loosely, for a busy machine; about 30 us when it is idle."""
    timetable = from_document(ScheduleDocument("cron", ("15 6 * * 1-5",), timezone="Europe/Vienna"))
    restriction = TimeRestriction(earliest=datetime(2024, 1, 1, tzinfo=UTC))
    now = datetime(2026, 5, 5, 5, 5, tzinfo=UTC)
    last = None

    def ask() -> None:
        timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction, now=now)

    ask()
    assert min(timeit.repeat(ask, number=200, repeat=5)) / 200 < 1e-3


def test_the_names_are_looked_up_without_importing_croniter() -> None:
    code = "import sys, treadle.timetables as t; t.TimeRestriction; t.NullTimetable; print('croniter' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
