"""What a run needs next, against a slow oracle that looks at one instance at a time and knows nothing of changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.document import DagDocument, ExpandArgument, ExpandDocument, GroupDocument, TaskDocument
from treadle.trigger_rules import TriggerRule, UpstreamCounts, evaluate
from treadle_metadata.deciding.graph import Graph, compile_graph
from treadle_metadata.deciding.readiness import Decisions, decide
from treadle_metadata.deciding.snapshot import CODES, Snapshot
from treadle_metadata.states import FINISHED, RunState, TaskState

FINISHED_NAMES = {state.value for state in FINISHED}
EXPAND = ExpandDocument("product", (ExpandArgument("x", length=3),))

Instances = dict[tuple[str, int], str]
"""States by task and map index."""


@st.composite
def documents(draw: st.DrawFn) -> DagDocument:
    """A random DAG in topological order; some of its tasks stand in one of two mapped groups, some side by side."""
    tasks = []
    for number in range(draw(st.integers(1, 8))):
        upstream = sorted(draw(st.sets(st.integers(0, number - 1), max_size=3))) if number else []
        tasks.append(
            TaskDocument(
                task_id=f"t{number}",
                upstream=tuple(f"t{one}" for one in upstream),
                trigger_rule=draw(st.sampled_from([rule.value for rule in TriggerRule])),
                is_empty=draw(st.booleans()),
                group_id=draw(st.sampled_from([None, None, "g", "h", "inner"])),
            )
        )
    groups = GroupDocument("g", expand=EXPAND), GroupDocument("h", expand=EXPAND), GroupDocument("inner", parent="g")
    return DagDocument("d", tasks=tuple(tasks), groups=groups)


@st.composite
def instances_of(draw: st.DrawFn, document: DagDocument) -> Instances:
    """States of a run in which every group is expanded to three instances."""
    state = st.sampled_from([one.value for one in TaskState])
    found = {}
    for task in document.tasks:
        for index in range(3) if task.group_id is not None else [-1]:
            found[task.task_id, index] = draw(state)
    return found


def group_of(task: TaskDocument) -> str | None:
    return "g" if task.group_id == "inner" else task.group_id


@dataclass
class Oracle:
    """Decides by repeating single steps over single instances until nothing changes."""

    document: DagDocument
    now: Instances
    moved: Instances = field(default_factory=dict)

    def seen_by(self, task: TaskDocument, index: int) -> list[str]:
        """Return the states of the upstream instances that count for one instance."""
        tasks = {one.task_id: one for one in self.document.tasks}
        found = []
        for (name, other), state in self.now.items():
            same = group_of(task) is not None and group_of(tasks[name]) == group_of(task)
            if name in task.upstream and (other == index or not same):
                found.append(state)
        return found

    def step(self) -> bool:
        """Decide on what can be decided now; tell whether anything moved."""
        before = len(self.moved)
        for task in self.document.tasks:
            for name, index in [key for key in self.now if key[0] == task.task_id]:
                if self.now[name, index] != "none":
                    continue
                above = self.seen_by(task, index)
                counts = UpstreamCounts(
                    total=len(above),
                    **{one: above.count(one) for one in ("success", "failed", "skipped", "upstream_failed", "removed")},
                    done=sum(state in FINISHED_NAMES for state in above),
                )
                action = evaluate(task.trigger_rule, counts).action
                to = {"skip": "skipped", "upstream_fail": "upstream_failed", "wait": None}.get(
                    action, "success" if task.is_empty else "scheduled"
                )
                if to is not None:
                    self.now[name, index] = self.moved[name, index] = to
        return len(self.moved) > before

    def finish(self, graph: Graph) -> str | None:
        """Return the state in which the run ends now, if it does."""
        if all(state in FINISHED_NAMES for state in self.now.values()):
            deciding = {graph.nodes[one].task.task_id for one in graph.scopes.deciding}
            last = {state for (name, _), state in self.now.items() if name in deciding}
            return "failed" if {"failed", "upstream_failed"} & last else "success"
        if not self.moved and all(state in FINISHED_NAMES | {"none"} for state in self.now.values()):
            return "failed"
        return None


def snapshot_of(graph: Graph, instances: Instances) -> Snapshot:
    snapshot = Snapshot(graph, [(name, index, state) for (name, index), state in instances.items()])
    snapshot.verified |= {"g", "h"}
    return snapshot


def moves_in(graph: Graph, decisions: Decisions) -> Instances:
    kinds = (
        (decisions.schedule, "scheduled"),
        (decisions.succeed, "success"),
        (decisions.skip, "skipped"),
        (decisions.upstream_fail, "upstream_failed"),
    )
    return {(graph.nodes[node].task.task_id, place - 1): state for moves, state in kinds for node, place in moves}


@given(st.data())
def test_it_decides_as_the_slow_oracle_does(data: st.DataObject) -> None:
    document = data.draw(documents())
    instances = data.draw(instances_of(document))
    graph = compile_graph(document)
    decisions = decide(snapshot_of(graph, instances))
    oracle = Oracle(document, dict(instances))
    while oracle.step():
        pass
    assert moves_in(graph, decisions) == oracle.moved
    assert (decisions.finish.value if decisions.finish else None) == oracle.finish(graph)


@settings(max_examples=60)
@given(st.data())
def test_deciding_on_what_has_changed_is_as_deciding_on_everything(data: st.DataObject) -> None:
    """A whole run, in which instances end and are cleared in any order, a few at a time."""
    document = data.draw(documents())
    graph = compile_graph(document)
    now: Instances = {
        (task.task_id, index): "none"
        for task in document.tasks
        for index in (range(3) if task.group_id is not None else [-1])
    }
    remembered = snapshot_of(graph, now)
    decisions = decide(remembered)
    for _ in range(40):
        oracle = Oracle(document, now)
        oracle.moved = {}
        while oracle.step():
            pass
        assert moves_in(graph, decisions) == oracle.moved
        assert (decisions.finish.value if decisions.finish else None) == oracle.finish(graph)
        if decisions.finish is not None:
            return
        active = sorted(key for key, state in now.items() if state == "scheduled")
        ended = data.draw(st.lists(st.sampled_from(active), min_size=1, max_size=4, unique=True))
        changes = []
        for name, index in ended:
            # "none" is what becomes of an attempt that was cleared while it ran.
            now[name, index] = data.draw(st.sampled_from(["success", "success", "failed", "skipped", "none"]))
            node = graph.index[name]
            code = CODES[now[name, index]]
            changes.append((node, index + 1, remembered.set(node, index + 1, code)))
        decisions = decide(remembered, changes)


def test_a_mapped_task_that_is_ready_is_to_be_expanded_and_its_run_goes_on() -> None:
    graph = compile_graph(
        DagDocument("d", tasks=(TaskDocument("m", expand=EXPAND), TaskDocument("j", upstream=("m",))))
    )
    decisions = decide(Snapshot(graph, [("m", -1, "none"), ("j", -1, "none")]))
    assert decisions.expand == [0]
    assert decisions.schedule == []
    assert decisions.finish is None


def test_a_mapped_group_is_expanded_when_what_it_is_mapped_over_has_ended_and_a_task_of_it_may_run() -> None:
    over = ExpandDocument("product", (ExpandArgument("x", task_id="make"),))
    tasks = (
        TaskDocument("make"),
        TaskDocument("g.a", upstream=("make",), group_id="g", trigger_rule="always"),
        TaskDocument("g.b", upstream=("g.a",), group_id="g"),
    )
    graph = compile_graph(DagDocument("d", tasks=tasks, groups=(GroupDocument("g", expand=over),)))
    undecided = [("g.a", -1, "none"), ("g.b", -1, "none")]
    waiting = decide(Snapshot(graph, [("make", -1, "running"), *undecided]))
    assert (waiting.expand_groups, waiting.schedule) == ([], [])
    ready = decide(Snapshot(graph, [("make", -1, "success"), *undecided]))
    assert [one.group_id for one in ready.expand_groups] == ["g"]
    assert ready.schedule == []


def test_a_run_in_which_nothing_can_run_fails_with_that_reason() -> None:
    """What a DAG that lost a task leaves behind: an upstream without instances is never done."""
    graph = compile_graph(DagDocument("d", tasks=(TaskDocument("a"), TaskDocument("b", upstream=("a",)))))
    decisions = decide(Snapshot(graph, [("a", -1, "removed"), ("b", -1, "none")]))
    assert decisions.schedule == [(1, 0)]
    stuck = decide(Snapshot(graph, [("a", -1, "up_for_retry"), ("b", -1, "none")]))
    assert stuck.finish is None


def test_a_run_that_was_ended_takes_its_state_when_its_teardowns_have_run() -> None:
    tasks = (
        TaskDocument("s", is_setup=True),
        TaskDocument("w", upstream=("s",)),
        TaskDocument("td", upstream=("s", "w"), is_teardown=True, setups=("s",), trigger_rule="all_done_setup_success"),
    )
    graph = compile_graph(DagDocument("d", tasks=tasks))
    rows = [("s", -1, "success"), ("w", -1, "skipped"), ("td", -1, "none")]
    decisions = decide(Snapshot(graph, rows), ending=RunState.FAILED)
    assert (decisions.schedule, decisions.finish) == ([(2, 0)], None)
    rows[2] = ("td", -1, "success")
    assert decide(Snapshot(graph, rows), ending=RunState.FAILED).finish is RunState.FAILED


def test_a_run_whose_tasks_are_all_gone_ends() -> None:
    graph = compile_graph(DagDocument("d"))
    assert decide(Snapshot(graph, [])).finish is RunState.SUCCESS
