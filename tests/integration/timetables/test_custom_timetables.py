"""Custom timetables under the real loop: evaluated apart, within a time limit, and each one's faults its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.scheduling import TestScheduler
from tests.support.waiting import wait_until

from treadle.document import ScheduleDocument
from treadle.errors import InvalidSchedule
from treadle.timetables.factory import from_document
from treadle.timetables.remote import install
from treadle_executors.timetables import Evaluator
from treadle_metadata import backfills, dag_warnings
from treadle_metadata.clock import ManualClock
from treadle_metadata.errors import InvalidRequestError
from treadle_scheduler.custom_timetables import CustomTimetables
from treadle_scheduler.waking import Scope

BAD = """
class Raises(Hourly):
    def at(self, moment):
        raise LookupError("no holidays for 2026")

class Hangs(Hourly):
    def at(self, moment):
        time.sleep(3600)

class Exits(Hourly):
    def at(self, moment):
        os._exit(7)

class Naive(Hourly):
    def at(self, moment):
        return DagRunInfo.exact(moment.replace(tzinfo=None))

class Stands(Hourly):
    def next_dagrun_info(self, *, last_automated_data_interval, restriction):
        return DagRunInfo.exact(restriction.earliest)

class Nothing(Hourly):
    def at(self, moment):
        return "tomorrow"
"""

NOSY = """
class Nosy(Hourly):
    def at(self, moment):
        raise LookupError(dict(os.environ))
"""

WORDS = {
    "Raises": "LookupError: no holidays for 2026",
    "Hangs": "gave no answer in 2 s",
    "Exits": "ended its process",
    "Naive": "has no time zone",
    "Stands": "is not later than the last one",
    "Nothing": "expected a DagRunInfo or None",
}


def _custom(name: str, kind: str = "Hourly", **changes: Any) -> ScheduleDocument:
    return ScheduleDocument(
        kind="custom", custom=f"module:{name}:{kind}", data="{}", summary=f"{name}.{kind}", **changes
    )


def test_a_timetable_of_the_dags_folder_makes_its_runs(
    scheduler: TestScheduler, clock: ManualClock, folder: Any, timed: Any, beat_until: Any
) -> None:
    folder.write("hours")
    scheduler.install(timed("custom", _custom("hours"), catchup=True), next_run_at=clock.now())
    beat_until(lambda: len(scheduler.run_states("custom")) == 1)
    clock.advance(timedelta(hours=2))
    beat_until(lambda: len(scheduler.run_states("custom")) == 3)
    assert list(scheduler.run_states("custom")) == [
        f"scheduled__2026-01-15T{hour}:00:00+00:00" for hour in ("12", "13", "14")
    ]


def test_timetables_that_fail_in_any_way_break_their_own_dag_only(
    scheduler: TestScheduler,
    clock: ManualClock,
    folder: Any,
    timed: Any,
    beat_until: Any,
    warnings: Callable[[], dict[str, str]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Cases A4 and A75: all of them stand in one file, with a good one."""
    folder.write("bad", BAD)
    for kind in WORDS:
        scheduler.install(timed(kind, _custom("bad", kind)), next_run_at=clock.now())
    scheduler.install(timed("good", _custom("bad")), next_run_at=clock.now())
    scheduler.install(timed("cron", ScheduleDocument("cron", ("* * * * *",))), next_run_at=clock.now())
    scheduler.loop.beat()
    assert list(scheduler.run_states("cron")) == ["scheduled__2026-01-15T12:00:00+00:00"], "it waited for user code"
    beat_until(lambda: warnings().keys() == WORDS.keys() and scheduler.run_states("good"))
    for kind, words in WORDS.items():
        assert words in warnings()[kind]
        assert "it is asked again in a minute" in warnings()[kind]
        assert scheduler.run_states(kind) == {}
    logged = [one.getMessage() for one in caplog.records if "gives no next run" in one.getMessage()]
    assert len(logged) == len(WORDS)
    assert all(any(words in line for line in logged) for words in WORDS.values())
    noticed = warnings()
    clock.advance(timedelta(minutes=1, seconds=1))
    beat_until(lambda: len(scheduler.run_states("cron")) > 1 and not scheduler.context.custom.asked())
    assert warnings() == noticed
    again = [one for one in caplog.records if "gives no next run" in one.getMessage() and one.levelname == "WARNING"]
    assert len(again) == len(WORDS), "a warning each minute"


def test_two_schedulers_that_ask_the_same_timetable_make_each_run_once(
    scheduler: TestScheduler, clock: ManualClock, folder: Any, timed: Any, evaluator: Evaluator
) -> None:
    folder.write("hours")
    other = TestScheduler(scheduler.database, scheduler.context.settings, clock)
    other.context.custom = CustomTimetables(evaluator, lambda: other.loop.wake(Scope.EVERYTHING))
    scheduler.install(timed("custom", _custom("hours"), catchup=True), next_run_at=clock.now())
    clock.advance(timedelta(hours=6))

    def both() -> bool:
        scheduler.loop.beat()
        other.loop.beat()
        return len(scheduler.run_states("custom")) == 7

    wait_until(both)
    assert sorted(run_id[22:24] for run_id in scheduler.run_states("custom")) == [str(hour) for hour in range(12, 19)]
    assert scheduler.next_run_at("custom") == datetime(2026, 1, 15, 19, tzinfo=UTC)


def test_a_failed_timetable_is_asked_again_and_its_warning_goes_when_the_file_is_mended(
    scheduler: TestScheduler,
    clock: ManualClock,
    folder: Any,
    timed: Any,
    beat_until: Any,
    warnings: Callable[[], dict[str, str]],
) -> None:
    folder.write("hours", "class Hourly(Hourly):\n    def at(self, moment):\n        raise LookupError(moment)\n")
    scheduler.install(timed("mended", _custom("hours")), next_run_at=clock.now())
    beat_until(warnings)
    folder.write("hours", "\n")
    clock.advance(timedelta(minutes=1))
    beat_until(lambda: scheduler.run_states("mended"))
    assert warnings() == {}


def test_a_warning_goes_whichever_scheduler_evaluates_the_timetable_again(
    scheduler: TestScheduler,
    clock: ManualClock,
    folder: Any,
    timed: Any,
    beat_until: Any,
    warnings: Callable[[], dict[str, str]],
) -> None:
    folder.write("hours")
    scheduler.install(timed("told", _custom("hours")), next_run_at=clock.now())
    beat_until(lambda: scheduler.run_states("told"))
    with scheduler.database.begin() as connection:
        dag_warnings.warn(connection, dag_warnings.SCHEDULE, {"told": "another scheduler's"}, now=clock.now())
    clock.advance(timedelta(hours=1))
    beat_until(lambda: len(scheduler.run_states("told")) == 2)
    assert warnings() == {}


def test_one_that_hangs_is_apart_from_the_others_of_its_file_from_then_on(evaluator: Evaluator, folder: Any) -> None:
    folder.write("bad", BAD)
    question = {"ask": "manual", "run_after": "2026-01-15T12:00:00+00:00"}
    assert evaluator(_custom("bad"), question) == ["2026-01-15T12:00:00+00:00"] * 2
    first = set(evaluator.pids())
    hanging = {"ask": "next", "at": {"now": question["run_after"], "last": None}, "restriction": _from_noon()}
    with pytest.raises(InvalidSchedule, match="gave no answer in 2 s"):
        evaluator(_custom("bad", "Hangs"), hanging)
    evaluator(_custom("bad"), question)
    second = set(evaluator.pids())
    assert not first & second, "the hanging process was not ended"
    with pytest.raises(InvalidSchedule, match="gave no answer in 2 s"):
        evaluator(_custom("bad", "Hangs"), hanging)
    assert set(evaluator.pids()) == second, "the others' process was ended with it"


def test_a_process_that_is_killed_is_replaced_at_once(evaluator: Evaluator, folder: Any) -> None:
    folder.write("hours")
    question = {"ask": "manual", "run_after": "2026-01-15T12:00:00+00:00"}
    assert evaluator(_custom("hours"), question)
    (first,) = evaluator.pids()
    os.kill(first, signal.SIGKILL)
    assert evaluator(_custom("hours"), question)
    assert evaluator.pids() != [first]


def test_the_process_of_a_timetable_finds_no_credential(
    evaluator: Evaluator, folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case F17."""
    monkeypatch.setenv("TREADLE_DATABASE_URL", evaluator.settings.database_url)
    monkeypatch.setenv("COPY_OF_KEY", evaluator.settings.fernet_key)
    monkeypatch.setenv("INNOCENT", "yes")
    folder.write(
        "nosy", "class Nosy(Hourly):\n    def at(self, moment):\n        raise LookupError(dict(os.environ))\n"
    )
    asked = {"ask": "next", "at": {"now": "2026-01-15T12:00:00+00:00", "last": None}, "restriction": _from_noon()}
    with pytest.raises(InvalidSchedule) as caught:
        evaluator(_custom("nosy", "Nosy"), asked)
    assert "'INNOCENT': 'yes'" in str(caught.value)
    assert "TREADLE_DATABASE_URL" not in str(caught.value)
    assert evaluator.settings.fernet_key not in str(caught.value)


@pytest.mark.parametrize(
    ("catchup", "expected"),
    [(True, ["12", "13", "14", "15"]), (False, ["12", "15"]), ("none", ["12"])],
)
def test_policies_hold_for_a_timetable_that_does_not_know_of_them(
    scheduler: TestScheduler,
    clock: ManualClock,
    folder: Any,
    timed: Any,
    beat_until: Any,
    catchup: Any,
    expected: list[str],
) -> None:
    folder.write("hours")
    scheduler.install(timed("custom", _custom("hours"), catchup=catchup), next_run_at=clock.now())
    beat_until(lambda: len(scheduler.run_states("custom")) == 1)
    clock.advance(timedelta(hours=3, minutes=20))
    beat_until(
        lambda: len(scheduler.run_states("custom")) == len(expected) and scheduler.next_run_at("custom").hour == 16
    )
    assert [run_id[22:24] for run_id in scheduler.run_states("custom")] == expected


def test_an_installed_timetable_is_found_by_its_entry_point(evaluator: Evaluator, folder: Any) -> None:
    folder.write("installed_calendar")
    info = folder.path / "calendars-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: calendars\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[treadle.timetables]\nhourly = installed_calendar:Hourly\n")
    document = ScheduleDocument(kind="custom", custom="entry:hourly", data="{}", summary="installed")
    assert evaluator(document, {"ask": "manual", "run_after": "2026-01-15T12:00:00+00:00"})
    missing = ScheduleDocument(kind="custom", custom="entry:daily", data="{}", summary="not installed")
    with pytest.raises(InvalidSchedule, match="daily cannot be loaded"):
        evaluator(missing, {"ask": "manual", "run_after": "2026-01-15T12:00:00+00:00"})


def test_a_backfill_takes_its_dates_from_a_custom_timetable(
    scheduler: TestScheduler, clock: ManualClock, folder: Any, timed: Any, evaluator: Evaluator
) -> None:
    folder.write("hours")
    scheduler.install(timed("custom", _custom("hours")))
    install(evaluator)
    try:
        with scheduler.database.begin() as connection:
            made = backfills.create(
                connection,
                "custom",
                datetime(2026, 1, 14, 3, tzinfo=UTC),
                datetime(2026, 1, 14, 6, tzinfo=UTC),
                now=clock.now(),
                cron_style="trigger",
            )
    finally:
        install(None)
    assert [one.logical_date.hour for one in made.planned] == [3, 4, 5, 6]


def test_a_run_by_hand_of_a_dag_whose_timetable_fails_is_refused_in_words(
    scheduler: TestScheduler, clock: ManualClock, folder: Any, timed: Any, evaluator: Evaluator
) -> None:
    folder.write("hours", "raise ImportError('no such calendar')")
    scheduler.install(timed("custom", _custom("hours")))
    install(evaluator)
    try:
        with pytest.raises(InvalidRequestError, match=r"no such calendar.*Give data_interval_start"):
            scheduler.trigger("custom", logical_date=clock.now())
        with pytest.raises(InvalidRequestError, match="gives no dates"), scheduler.database.begin() as connection:
            backfills.create(connection, "custom", clock.now(), clock.now(), now=clock.now())
    finally:
        install(None)
    assert scheduler.trigger("custom").startswith("manual__")


def test_without_an_evaluator_the_error_says_so() -> None:
    with pytest.raises(InvalidSchedule, match="process of its own"):
        from_document(_custom("hours")).infer_manual_data_interval(run_after=datetime(2026, 1, 1, tzinfo=UTC))


def _from_noon() -> dict[str, Any]:
    return {"earliest": "2026-01-15T12:00:00+00:00", "latest": None, "catchup": False, "not_before": None}
