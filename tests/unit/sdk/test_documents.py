"""Documents: schedules, dates, order, and the round trip through JSON for any DAG."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from dateutil.relativedelta import relativedelta
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle import DAG, CronTriggerTimetable, DagError, EmptyOperator, Param, document
from treadle.digest import digest
from treadle.ordering import cycle_in, topological
from treadle.serialization import document_of, validate

PARIS = ZoneInfo("Europe/Paris")


def schedule_of(schedule: Any, start: datetime | None = None) -> document.ScheduleDocument:
    return document_of(DAG("d", schedule=schedule, start_date=start)).schedule


@pytest.mark.parametrize(
    ("schedule", "kind", "expressions", "seconds", "style"),
    [
        (None, "none", (), None, "trigger"),
        ("@once", "once", (), None, "trigger"),
        ("@continuous", "continuous", (), None, "trigger"),
        ("@daily", "cron", ("@daily",), None, "default"),
        (" 0 6 * * * ", "cron", ("0 6 * * *",), None, "default"),
        (timedelta(hours=6), "delta", (), 21600.0, "default"),
        (CronTriggerTimetable("0 6 * * *", timezone="UTC"), "cron", ("0 6 * * *",), None, "trigger"),
    ],
)
def test_every_form_of_a_schedule_has_its_document(
    schedule: Any, kind: str, expressions: tuple[str, ...], seconds: float | None, style: str
) -> None:
    found = schedule_of(schedule)
    assert (found.kind, found.expressions, found.seconds, found.style) == (kind, expressions, seconds, style)


def test_a_relativedelta_keeps_its_calendar_parts() -> None:
    found = schedule_of(relativedelta(months=1, day=31), datetime(2025, 1, 1, tzinfo=PARIS))
    assert (found.kind, found.timezone) == ("delta", "Europe/Paris")
    assert dict(found.relative) == {"months": 1, "day": 31}
    with pytest.raises(DagError, match=r"DAG 'd': .*relativedelta\(year=2025\) sets year"):
        validate(DAG("d", schedule=relativedelta(year=2025)))


def test_the_zone_of_a_schedule_is_that_of_the_start_date() -> None:
    assert schedule_of("@daily", datetime(2025, 1, 1, tzinfo=PARIS)).timezone == "Europe/Paris"
    assert schedule_of("@daily", datetime(2025, 1, 1)).timezone == "UTC"  # noqa: DTZ001 - naive on purpose
    assert schedule_of("@daily", datetime(2025, 1, 1, tzinfo=timezone(timedelta(hours=2)))).timezone == "Etc/GMT-2"
    with pytest.raises(DagError, match="a time zone with an IANA name"):
        schedule_of("@daily", datetime(2025, 1, 1, tzinfo=timezone(timedelta(minutes=90))))


def test_dates_are_utc_and_a_task_has_one_only_where_it_narrows_the_dags() -> None:
    start = datetime(2025, 1, 1, tzinfo=PARIS)
    with DAG("d", default_args={"start_date": start}) as dag:
        EmptyOperator(task_id="a")
        EmptyOperator(task_id="b", start_date=start + timedelta(days=1))
        EmptyOperator(task_id="c", start_date=start - timedelta(days=1))
    found = document_of(dag)
    assert found.start_date == "2024-12-31T23:00:00+00:00"
    assert found.timezone == "Europe/Paris"
    assert [task.start_date for task in found.tasks] == [None, "2025-01-01T23:00:00+00:00", None]


def test_continuous_dags_run_one_at_a_time() -> None:
    assert document_of(DAG("d", schedule="@continuous")).max_active_runs == 1
    assert document_of(DAG("d", schedule="@daily")).max_active_runs is None


def test_a_documents_digest_does_not_know_line_numbers() -> None:
    first = document_of(DAG("d"))
    second = document_of(DAG("d"))
    assert first.line != second.line
    assert digest(first) == digest(second)


def test_doc_md_may_name_a_file_beside_the_dag_file() -> None:
    with pytest.raises(DagError, match=r"doc_md='missing\.md' names a file that cannot be read"):
        DAG("d", doc_md="missing.md")


def test_documents_of_one_dag_are_equal_each_time() -> None:
    with DAG("d", tags={"x", "y"}, params={"s": {"a", "b"}}) as dag:
        EmptyOperator(task_id="a") >> EmptyOperator(task_id="b")
    assert document.dumps(document_of(dag)) == document.dumps(document_of(dag))


names = st.text("abcdefgh", min_size=1, max_size=3)


@st.composite
def dags(draw: st.DrawFn) -> DAG:
    with DAG(
        draw(names),
        schedule=draw(st.sampled_from([None, "@daily", "0 6 * * *", timedelta(hours=3)])),
        start_date=draw(st.none() | st.datetimes(timezones=st.sampled_from([UTC, PARIS]))),
        tags=draw(st.sets(names)),
        catchup=draw(st.booleans()),
        params=draw(st.dictionaries(names, st.integers() | st.builds(Param, st.text(), st.text()))),
        dagrun_timeout=draw(st.none() | st.timedeltas(timedelta(0), timedelta(days=1))),
    ) as dag:
        tasks = [
            EmptyOperator(
                task_id=name,
                retries=draw(st.integers(0, 5)),
                trigger_rule=draw(st.sampled_from(["all_success", "all_done", "always"])),
                executor_config=draw(st.dictionaries(names, st.lists(st.integers(), max_size=2), max_size=1)),
                doc_md=draw(st.none() | st.text()),
            )
            for name in draw(st.lists(names, unique=True, max_size=6))
        ]
        for number, task in enumerate(tasks):
            task << draw(st.lists(st.sampled_from(tasks[:number]), unique_by=id)) if number else None
    return dag


@settings(max_examples=60, deadline=None)
@given(dags())
def test_any_document_comes_back_from_its_json_as_it_was(dag: DAG) -> None:
    written = document_of(dag)
    assert document.loads(document.dumps(written)) == written
    assert {task.task_id for task in written.tasks} == set(dag.task_dict)


graphs = st.integers(1, 8).flatmap(
    lambda size: st.lists(st.sets(st.integers(0, size - 1), max_size=3), min_size=size, max_size=size)
)


@given(graphs)
def test_an_order_is_complete_exactly_when_there_is_no_cycle(graph: list[set[int]]) -> None:
    upstream = {str(name): frozenset(str(one) for one in before) for name, before in enumerate(graph)}
    order, cycle = topological(upstream), cycle_in(upstream)
    place = {name: number for number, name in enumerate(order)}
    for name in order:
        assert all(place[before] < place[name] for before in upstream[name])
    assert (len(order) == len(upstream)) == (cycle == [])
    for tail, head in pairwise(cycle):
        assert tail in upstream[head]
    assert not cycle or cycle[0] == cycle[-1]


def test_ties_of_the_order_keep_the_order_of_definition() -> None:
    assert topological({"c": frozenset(), "b": frozenset("a"), "a": frozenset(), "d": frozenset("c")}) == list("cabd")


def test_naive_dates_are_read_as_utc() -> None:
    assert DAG("d", start_date=datetime(2025, 1, 1)).start_date == datetime(2025, 1, 1, tzinfo=UTC)  # noqa: DTZ001
