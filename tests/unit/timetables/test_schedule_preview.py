"""The preview of a schedule: what the scheduler will do, in both zones, with what the clock does to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.document import DagDocument, ScheduleDocument
from treadle.timetables import DataInterval, TimeRestriction
from treadle.timetables.factory import from_document
from treadle.timetables.preview import next_fires, policies


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def cron(text: str, timezone: str = "UTC", style: str = "trigger", **more: str) -> ScheduleDocument:
    return ScheduleDocument("cron", (text,), timezone=timezone, style=style, **more)  # type: ignore[arg-type]


def test_a_skipped_time_is_shown_in_both_zones_with_its_note() -> None:
    fires = next_fires(
        cron("30 2 * * *", "America/Chicago"), now=at("2024-03-09"), n=3, viewer_timezone="Europe/Vienna"
    )
    assert [fire.local.isoformat() for fire in fires] == [
        "2024-03-09T02:30:00-06:00",
        "2024-03-10T03:00:00-05:00",
        "2024-03-11T02:30:00-05:00",
    ]
    assert [fire.viewer.isoformat()[11:16] for fire in fires] == ["09:30", "09:00", "08:30"]
    assert [fire.is_dst for fire in fires] == [False, True, True]
    assert [bool(fire.note) for fire in fires] == [False, True, False]
    assert "the clock skips" in fires[1].note


def test_both_passes_of_a_doubled_hour_are_told_apart() -> None:
    fires = next_fires(cron("30 * * * *", "America/Chicago"), now=at("2024-11-03T05:45"), n=4)
    assert [fire.run_after.hour for fire in fires] == [6, 7, 8, 9]
    assert [fire.note for fire in fires] == [
        "this time comes twice; first pass",
        "this time comes twice; second pass",
        "",
        "",
    ]


def test_an_interval_style_preview_names_the_data_and_the_run_time() -> None:
    """Case A8."""
    (fire,) = next_fires(cron("@daily", style="interval"), now=at("2024-05-05T12:00"), n=1)
    assert fire.run_after == at("2024-05-06")
    assert fire.data_interval == DataInterval(at("2024-05-05"), at("2024-05-06"))
    assert fire.logical_date == at("2024-05-05")


def test_a_preview_ends_with_its_span() -> None:
    fires = next_fires(cron("@hourly"), now=at("2024-01-01"), start=at("2025-01-01"), end=at("2025-01-01T03:00"))
    assert [fire.run_after.hour for fire in fires] == [1, 2, 3]


def test_a_delta_is_counted_from_the_dags_start_date() -> None:
    document = ScheduleDocument("delta", seconds=86_400 * 2)
    fires = next_fires(document, now=at("2025-01-08"), earliest=at("2025-01-01T06:00"), n=2)
    assert [fire.run_after for fire in fires] == [at("2025-01-09T06:00"), at("2025-01-11T06:00")]
    fires = next_fires(document, now=at("2025-01-08"), earliest=at("2026-01-01T06:00"), n=1)
    assert [fire.run_after for fire in fires] == [at("2026-01-01T06:00")]


@pytest.mark.parametrize(("kind", "count"), [("none", 0), ("once", 1), ("continuous", 1)])
def test_schedules_without_a_clock(kind: str, count: int) -> None:
    assert len(next_fires(ScheduleDocument(kind), now=at("2025-01-01"))) == count


@given(
    text=st.sampled_from(["30 2 * * *", "*/20 * * * *", "0 1,3 * * 0", "15 0 1 * *"]),
    zone=st.sampled_from(["America/Chicago", "Europe/Vienna", "Australia/Lord_Howe", "UTC"]),
    style=st.sampled_from(["trigger", "interval"]),
    day=st.integers(0, 700),
)
def test_the_preview_is_what_a_scheduler_makes_in_time(text: str, zone: str, style: str, day: int) -> None:
    """Case H11: preview = effect, for a DAG with catchup off that is never late."""
    document = cron(text, zone, style)
    begin = at("2023-06-01") + timedelta(days=day)
    timetable = from_document(document)
    restriction = TimeRestriction(earliest=begin - timedelta(days=400))
    made: list[datetime] = []
    last = None
    now = begin
    while len(made) < 6:
        info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction, now=now)
        assert info is not None
        if info.run_after > begin:
            made.append(info.run_after)
        last, now = info.data_interval, max(now, info.run_after)
    fires = next_fires(document, now=begin, n=6, earliest=restriction.earliest)
    assert [fire.run_after for fire in fires] == made


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (DagDocument("d", schedule=cron("0 6 1 * FRI")), "day of the month is 1 or whose day of the week"),
        (DagDocument("d", schedule=cron("0 6 * * *")), "fires at the first instant after it (gap='shift')"),
        (DagDocument("d", schedule=cron("0 6 * * *", doubled="none")), "fires at neither pass (doubled='none')"),
        (DagDocument("d", schedule=cron("0 * * * *")), "follows elapsed time"),
        (DagDocument("d", schedule=cron("0 6 * * *", style="interval")), "each run covers the interval"),
        (DagDocument("d", schedule=cron("0 6 * * *"), catchup="none"), "Missed times: none becomes a run"),
        (DagDocument("d", schedule=cron("0 6 * * *"), overlap="skip"), "at its run limit is left out"),
        (DagDocument("d", schedule=ScheduleDocument(kind="custom", summary="trading days")), "Schedule: trading days."),
    ],
)
def test_the_policies_are_told_in_sentences(document: DagDocument, words: str) -> None:
    """Cases A8, A64 and G15."""
    assert any(words in line for line in policies(document))
