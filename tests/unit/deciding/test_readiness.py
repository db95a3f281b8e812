"""What a run needs next, against a slow oracle that looks at one instance at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.document import DagDocument, ExpandArgument, ExpandDocument, TaskDocument
from treadle.trigger_rules import TriggerRule, UpstreamCounts, evaluate
from treadle_metadata.deciding.graph import Graph, compile_graph
from treadle_metadata.deciding.readiness import decide
from treadle_metadata.states import FINISHED, RunState, TaskState

FINISHED_NAMES = {state.value for state in FINISHED}


@st.composite
def runs(draw: st.DrawFn) -> tuple[Graph, list[list[str]]]:
    """A random DAG in topological order, and the states of each task's instances."""
    size = draw(st.integers(1, 7))
    tasks, states = [], []
    for number in range(size):
        upstream = sorted(draw(st.sets(st.integers(0, number - 1), max_size=3))) if number else []
        tasks.append(
            TaskDocument(
                task_id=f"t{number}",
                upstream=tuple(f"t{one}" for one in upstream),
                trigger_rule=draw(st.sampled_from([rule.value for rule in TriggerRule])),
                is_empty=draw(st.booleans()),
            )
        )
        state = st.sampled_from([one.value for one in TaskState])
        states.append(draw(st.lists(state, min_size=1, max_size=3)))
    return compile_graph(DagDocument("d", tasks=tuple(tasks))), states


def slow_decide(graph: Graph, instances: list[list[str]]) -> tuple[dict[str, str], str | None]:
    """Decide by repeating single steps over single instances until nothing changes."""
    now = [list(states) for states in instances]
    moved: dict[str, str] = {}
    changed = True
    while changed:
        changed = False
        for node in graph.nodes:
            if "none" not in now[node.index]:
                continue
            above = [state for one in node.upstream for state in now[one]]
            counts = UpstreamCounts(
                total=len(above),
                **{name: above.count(name) for name in ("success", "failed", "skipped", "upstream_failed", "removed")},
                done=sum(state in FINISHED_NAMES for state in above),
            )
            action = evaluate(node.task.trigger_rule, counts).action
            to = {"skip": "skipped", "upstream_fail": "upstream_failed", "wait": None}.get(
                action, "success" if node.task.is_empty else "scheduled"
            )
            if to is not None:
                now[node.index] = [to if state == "none" else state for state in now[node.index]]
                moved[node.task.task_id] = to
                changed = True
    everything = [state for states in now for state in states]
    if all(state in FINISHED_NAMES for state in everything):
        last = [state for one in graph.scopes.deciding for state in now[one]]
        return moved, "failed" if {"failed", "upstream_failed"} & set(last) else "success"
    if not moved and all(state in FINISHED_NAMES | {"none"} for state in everything):
        return moved, "failed"
    return moved, None


@given(runs())
def test_it_decides_as_the_slow_oracle_does(run: tuple[Graph, list[list[str]]]) -> None:
    graph, instances = run
    counts = [{state: states.count(state) for state in set(states)} for states in instances]
    decisions = decide(graph, counts)
    moved = {
        graph.nodes[one].task.task_id: state
        for indexes, state in (
            (decisions.schedule, "scheduled"),
            (decisions.succeed, "success"),
            (decisions.skip, "skipped"),
            (decisions.upstream_fail, "upstream_failed"),
        )
        for one in indexes
    }
    expected, finish = slow_decide(graph, instances)
    assert moved == expected
    assert (decisions.finish.value if decisions.finish else None) == finish


def test_a_mapped_task_that_is_ready_is_to_be_expanded_and_its_run_goes_on() -> None:
    expand = ExpandDocument("product", (ExpandArgument("x", length=3),))
    graph = compile_graph(
        DagDocument("d", tasks=(TaskDocument("m", expand=expand), TaskDocument("j", upstream=("m",))))
    )
    decisions = decide(graph, [{"none": 1}, {"none": 1}])
    assert decisions.expand == [0]
    assert decisions.schedule == []
    assert decisions.finish is None


def test_a_run_in_which_nothing_can_run_fails_with_that_reason() -> None:
    """What a DAG that lost a task leaves behind: an upstream without instances is never done."""
    graph = compile_graph(DagDocument("d", tasks=(TaskDocument("a"), TaskDocument("b", upstream=("a",)))))
    decisions = decide(graph, [{"removed": 1, "success": 1}, {"none": 1}])
    assert decisions.schedule == [1]
    stuck = decide(graph, [{"up_for_retry": 1}, {"none": 1}])
    assert stuck.finish is None


def test_a_run_whose_tasks_are_all_gone_ends() -> None:
    graph = compile_graph(DagDocument("d"))
    assert decide(graph, []).finish is RunState.SUCCESS
