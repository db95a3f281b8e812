"""What DAG files say of missed and overlapping times, and of timetables of their own, as the document carries it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from dateutil.relativedelta import relativedelta

from treadle import DAG, EmptyOperator, LatestOnlyOperator
from treadle.collection import begin
from treadle.document import ScheduleDocument, loads, to_json
from treadle.errors import DagError
from treadle.serialization import document_of, validate
from treadle.timetables import (
    CronDataIntervalTimetable,
    DagRunInfo,
    DataInterval,
    DeltaTriggerTimetable,
    EventsTimetable,
    InvalidSchedule,
    MultipleCronTriggerTimetable,
    Timetable,
)
from treadle.timetables.factory import from_document

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _leave_no_dag_behind() -> Iterator[None]:
    yield
    begin()


class Weekly(Timetable):
    """Takes an argument, so that it has something to store."""

    def __init__(self, weekday: int = 0) -> None:
        self.weekday = weekday
        self.description = f"weekly on day {weekday}"

    def serialize(self) -> dict[str, Any]:
        return {"weekday": self.weekday}

    def next_dagrun_info(self, *, last_automated_data_interval: Any, restriction: Any, **_: Any) -> DagRunInfo:
        day = last_automated_data_interval.end if last_automated_data_interval else restriction.earliest
        return DagRunInfo.exact(day + timedelta(days=7 - (day.weekday() - self.weekday) % 7))

    def infer_manual_data_interval(self, *, run_after: datetime) -> DataInterval:
        return DataInterval.exact(run_after)


class Forgetful(Weekly):
    def serialize(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("said", "kept"), [(True, True), ("all", True), (False, False), ("last", False), ("none", "none")]
)
def test_catchup_is_said_by_name_or_as_in_airflow(said: Any, kept: bool | str) -> None:
    """Case A10."""
    document = document_of(DAG("d", schedule="@daily", start_date=START, catchup=said))
    assert document.catchup == kept
    assert loads(to_json(document)).catchup == kept


def test_catchup_all_needs_a_start_date_and_none_does_not() -> None:
    with pytest.raises(DagError, match="no start_date"):
        validate(DAG("d", schedule="@daily", catchup="all"))
    validate(DAG("d", schedule="@daily", catchup="none"))


def test_overlap_is_said_by_name() -> None:
    assert document_of(DAG("d", schedule="@daily")).overlap == "wait"
    assert document_of(DAG("d", schedule="@daily", overlap="skip")).overlap == "skip"
    with pytest.raises(DagError, match="expected 'wait' or 'skip'"):
        DAG("d", schedule="@daily", overlap="cancel")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "schedule",
    [
        MultipleCronTriggerTimetable("0 6 * * *", "30 18 * * MON-FRI", timezone="Europe/Vienna", doubled="none"),
        CronDataIntervalTimetable("0 6 L * *", "America/New_York", gap="skip"),
        DeltaTriggerTimetable(relativedelta(months=1, day=31), timezone="Asia/Tokyo"),
        EventsTimetable([START, START + timedelta(days=3)], restrict_to_events=True, description="two days"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_timetable_comes_back_from_its_document_as_it_was(schedule: Timetable) -> None:
    document = document_of(DAG("d", schedule=schedule, start_date=START))
    again = from_document(loads(to_json(document)).schedule)
    assert again.to_document() == document.schedule
    assert again.summary == schedule.summary


def test_events_need_a_moment_and_a_zone() -> None:
    with pytest.raises(InvalidSchedule, match="is empty"):
        EventsTimetable([])
    with pytest.raises(InvalidSchedule, match="has no time zone"):
        EventsTimetable([datetime(2026, 1, 1)])  # noqa: DTZ001


def test_manual_runs_of_events_may_be_tied_to_them() -> None:
    events = [START, START + timedelta(days=3)]
    between, before = START + timedelta(days=1), START - timedelta(days=1)
    assert EventsTimetable(events).infer_manual_data_interval(run_after=between).start == between
    tied = EventsTimetable(events, restrict_to_events=True)
    assert tied.infer_manual_data_interval(run_after=between).start == START
    assert tied.infer_manual_data_interval(run_after=before).start == START


def test_a_timetable_of_ones_own_is_stored_by_name_and_arguments() -> None:
    document = document_of(DAG("d", schedule=Weekly(3), start_date=START)).schedule
    assert document.custom == f"module:{__name__}:Weekly" or document.custom.startswith("file:")
    assert (document.kind, document.data, document.summary) == ("custom", '{"weekday": 3}', "weekly on day 3")
    assert from_document(document).summary == "weekly on day 3"


def test_a_timetable_that_cannot_be_stored_is_refused_when_its_file_is_parsed() -> None:
    class Local(Weekly):
        pass

    with pytest.raises(DagError, match="is defined inside a function"):
        document_of(DAG("d", schedule=Local(), start_date=START))
    invalid = Weekly(9)
    invalid.validate = lambda: 1 / 0  # type: ignore[attr-defined]
    with pytest.raises(DagError, match="is not valid: division by zero"):
        document_of(DAG("d", schedule=invalid, start_date=START))
    broken = Forgetful(3)
    broken.serialize = lambda: {"day": 3}  # type: ignore[method-assign]
    with pytest.raises(DagError, match="cannot be stored"):
        document_of(DAG("d", schedule=broken, start_date=START))


def test_the_name_of_a_custom_timetable_is_checked() -> None:
    with pytest.raises(InvalidSchedule, match="begins with none of entry, module, file"):
        from_document(ScheduleDocument(kind="custom", custom="os:system"))


def test_a_custom_timetable_is_used_as_it_is_where_user_code_runs() -> None:
    with DAG("d", schedule=Weekly(), start_date=START) as own:
        LatestOnlyOperator(task_id="latest") >> EmptyOperator(task_id="then")
    assert own.test(logical_date=START).state == "success"
