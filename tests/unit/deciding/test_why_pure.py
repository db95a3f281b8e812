"""Explanations without a database: that they decide nothing anew, and how they write times and names."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import code

from treadle.document import DagDocument, ExpandArgument, ExpandDocument, GroupDocument, TaskDocument
from treadle_metadata.deciding import why_dag, why_run, why_task, why_waits
from treadle_metadata.deciding.graph import compile_graph
from treadle_metadata.deciding.limits import Candidate, Limits, Load, admit
from treadle_metadata.deciding.reasons import Explanation, Reason, instance_id
from treadle_metadata.deciding.snapshot import Snapshot
from treadle_metadata.deciding.why_dag import DagFacts, SchedulerFacts
from treadle_metadata.deciding.why_run import Room, RunFacts
from treadle_metadata.deciding.why_task import InstanceFacts, Waiting
from treadle_metadata.deciding.why_waits import StepFacts
from treadle_metadata.deciding.wording import ahead, instant, names, span
from treadle_metadata.states import TaskState

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
ALIVE, DEAD = SchedulerFacts(is_alive=True), SchedulerFacts(is_alive=False)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "under 1 s"), (59, "59 s"), (60, "1 min"), (3725, "1 h 2 min"), (86400, "1 d"), (93784, "1 d 2 h")],
)
def test_spans_are_told_in_their_two_largest_units(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_instants_are_told_in_utc_with_seconds_only_where_they_matter() -> None:
    berlin = datetime.fromisoformat("2026-01-15T13:00:00+01:00")
    assert instant(berlin) == "2026-01-15 12:00 UTC"
    assert ahead(NOW + timedelta(seconds=5), NOW) == "2026-01-15 12:00:05 UTC (in 5 s)"


def test_long_lists_are_cut() -> None:
    assert names(["a", "b", "c"]) == "a, b, c"
    assert names(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert names(["a", "b", "c"], 12) == "a, b, c and 9 more"
    assert names(["a"], 1) == "a"


def test_ids_of_instances_have_their_index_only_where_there_is_one() -> None:
    assert instance_id("d", "r", "t") == "d/r/t"
    assert instance_id("d", "r", "t", 0) == "d/r/t/0"


def test_what_a_person_must_put_right_comes_in_the_order_of_the_specification() -> None:
    dag = DagFacts(dag_id="d", file="d.py", is_active=False, is_paused=True, import_error="line 1: x")
    found = []
    for better in ({"is_active": True}, {"is_paused": False}, {"import_error": None}):
        found.append(why_dag.in_the_way(dag, DEAD, NOW))
        dag = replace(dag, **better)
    found += [why_dag.in_the_way(dag, DEAD, NOW), why_dag.in_the_way(dag, ALIVE, NOW)]
    assert [one and one.reason for one in found] == [
        Reason.DAG_GONE,
        Reason.PAUSED,
        Reason.IMPORT_ERROR,
        Reason.NO_SCHEDULER,
        None,
    ]


@pytest.mark.parametrize(
    ("room", "reason"),
    [
        (Room(2, 1, ("a",), 0), Reason.NEXT_BEAT),
        (Room(2, 1, ("a",), 1), Reason.RUN_LIMIT),
        (Room(2, 2, ("a", "b"), 0), Reason.RUN_LIMIT),
        (Room(1, 0, (), 1), Reason.RUN_LIMIT),
    ],
)
def test_a_queued_run_needs_a_place_that_no_run_before_it_takes(room: Room, reason: Reason) -> None:
    run = RunFacts(dag_id="d", run_id="r", state="queued", run_after=NOW)
    assert why_run.queued(DagFacts(dag_id="d", file="d.py"), run, room, ALIVE, NOW).reason is reason


def test_every_state_of_a_task_is_settled_or_explained_further() -> None:
    settled = set()
    for state in TaskState:
        one = InstanceFacts(id=1, dag_id="d", run_id="r", task_id="t", map_index=-1, state=state.value)
        if why_task.settled(one) is not None:
            settled.add(state.value)
    assert settled == {"success", "failed", "skipped", "upstream_failed", "removed", "running", "restarting"}


@given(st.lists(st.sampled_from(["none", "running", "success", "failed", "skipped"]), min_size=1, max_size=4))
def test_a_waiting_rule_names_an_unfinished_upstream_task(states: list[str]) -> None:
    above = tuple(TaskDocument(f"t{number}") for number in range(len(states)))
    below = TaskDocument("below", upstream=tuple(task.task_id for task in above), trigger_rule="all_done")
    document = DagDocument("d", tasks=(*above, below))
    one = InstanceFacts(id=1, dag_id="d", run_id="r", task_id="below", map_index=-1, state="none")
    found = why_undecided(one, document, [*states, "none"])
    unfinished = [f"d/r/t{number}" for number, state in enumerate(states) if state in ("none", "running")]
    if unfinished:
        assert found.blocked_by is not None
        assert (found.reason, found.blocked_by.id) == (Reason.TRIGGER_RULE, unfinished[0])
    else:
        assert found.reason is Reason.NEXT_BEAT


def test_a_setup_further_up_that_runs_again_is_named() -> None:
    tasks = (
        TaskDocument("setup", is_setup=True),
        TaskDocument("first", upstream=("setup",)),
        TaskDocument("second", upstream=("first",)),
        TaskDocument("teardown", upstream=("second",), is_teardown=True, setups=("setup",)),
    )
    one = InstanceFacts(id=1, dag_id="d", run_id="r", task_id="second", map_index=-1, state="none")
    found = why_undecided(one, DagDocument("d", tasks=tasks), ["running", "success", "none", "none"])
    assert found.sentence == "second waits for its setup 'setup'; unfinished: setup (running)"


def test_within_a_mapped_group_the_same_instance_is_named() -> None:
    expand = ExpandDocument("product", (ExpandArgument("x", length=2),))
    tasks = TaskDocument("g.a", group_id="g"), TaskDocument("g.b", upstream=("g.a",), group_id="g")
    graph = compile_graph(DagDocument("d", tasks=tasks, groups=(GroupDocument("g", expand=expand),)))
    states = {"g.a": {0: "success", 1: "running"}, "g.b": {0: "none", 1: "none"}}
    rows = [(task, index, state) for task, own in states.items() for index, state in own.items()]
    one = InstanceFacts(id=1, dag_id="d", run_id="r", task_id="g.b", map_index=1, state="none")
    found = why_task.undecided(one, Snapshot(graph, rows), states)
    assert found.sentence == (
        "g.b[1] waits for 1 of 1 upstream task: all must succeed (all_success); unfinished: g.a[1] (running)"
    )
    assert found.blocked_by is not None
    assert found.blocked_by.id == "d/r/g.a/1"


def why_undecided(one: InstanceFacts, document: DagDocument, states: list[str]) -> Explanation:
    """Explain an instance of a run whose tasks are in ``states``, in the document's order."""
    rows = [(task.task_id, -1, state) for task, state in zip(document.tasks, states, strict=True)]
    by_task = {name: {index: state} for name, index, state in rows}
    return why_task.undecided(one, Snapshot(compile_graph(document), rows), by_task)


@st.composite
def queues(draw: st.DrawFn) -> list[Candidate]:
    return [
        Candidate(
            id=number,
            dag_run_id=draw(st.integers(1, 2)),
            dag_id="d",
            task_id=draw(st.sampled_from("tu")),
            pool=draw(st.sampled_from("pq")),
            pool_slots=draw(st.integers(1, 2)),
            run_cap=2,
            task_cap=draw(st.sampled_from([None, 1])),
        )
        for number in range(draw(st.integers(1, 6)))
    ]


def a_load(active: int) -> Load:
    load = Load()
    for _ in range(active):
        load.hold(pool="p", slots=1)
        load.engage(dag_run_id=1, dag_id="d", task_id="t", pool="p", slots=1)
    return load


@given(queues(), st.integers(0, 3), st.integers(1, 5))
def test_an_instance_is_held_back_exactly_when_admission_passes_it_over(
    queue: list[Candidate], active: int, parallelism: int
) -> None:
    limits = Limits(parallelism, {"p": 2, "q": 3})
    admitted, _ = admit(queue, a_load(active), limits)
    *before, me = queue
    waiting = [Waiting(one, "r", -1, 1) for one in before]
    refused, first = why_task.held_back(me, waiting, a_load(active), limits)
    assert (refused is None and first is None) == (me in admitted)
    if refused is None and first is not None:
        assert first.candidate in admitted


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("sleep", "pay sleeps in its step 'night' until 2026-01-15 13:00 UTC (in 1 h)"),
        (
            "awakeable",
            "pay waits for whoever has the token of its step 'night' to post it, "
            "until 2026-01-15 13:00 UTC (in 1 h) at most",
        ),
    ],
)
def test_a_durable_step_that_waits_is_named_with_what_it_waits_for(kind: str, sentence: str) -> None:
    one = InstanceFacts(
        id=1, dag_id="one", run_id="run", task_id="pay", map_index=-1, state="up_for_reschedule", next_retry_at=NOW
    )
    due = NOW + timedelta(hours=1)
    found = Explanation(Reason.RESCHEDULED, "pay looks again", one.blocker, NOW)
    told = why_waits.suspended(one, StepFacts(kind, "night", due), found, NOW)
    assert told == replace(found, sentence=sentence, until=due)


def test_the_page_on_why_names_every_reason() -> None:
    page = (code.ROOT / "docs" / "howto" / "why-is-it-not-running.md").read_text()
    assert [reason.value for reason in Reason if f"`{reason.value}`" not in page] == []
