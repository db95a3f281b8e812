"""Compiled graphs: neighbours and priority weights, against sums over explicitly walked descendants."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treadle.document import DagDocument, TaskDocument
from treadle_metadata.deciding.graph import compile_graph


def test_the_weights_of_the_specifications_example() -> None:
    """Specification section 16: A -> B -> C, D -> B; downstream weights A 3, D 3, B 2, C 1."""
    tasks = (
        TaskDocument("A"),
        TaskDocument("D"),
        TaskDocument("B", upstream=("A", "D")),
        TaskDocument("C", upstream=("B",)),
    )
    graph = compile_graph(DagDocument("d", tasks=tasks))
    assert {node.task.task_id: node.weight for node in graph.nodes} == {"A": 3, "D": 3, "B": 2, "C": 1}
    assert graph.scopes.deciding == (3,)


@st.composite
def documents(draw: st.DrawFn) -> DagDocument:
    tasks = []
    for number in range(draw(st.integers(1, 9))):
        upstream = sorted(draw(st.sets(st.integers(0, number - 1)))) if number else []
        tasks.append(
            TaskDocument(
                f"t{number}",
                upstream=tuple(f"t{one}" for one in upstream),
                weight_rule=draw(st.sampled_from(["downstream", "upstream", "absolute"])),
                priority_weight=draw(st.integers(-5, 2**31)),
            )
        )
    return DagDocument("d", tasks=tuple(tasks))


@given(documents())
def test_weights_are_sums_over_all_descendants_or_ancestors(document: DagDocument) -> None:
    graph = compile_graph(document)

    def reach(position: int, below: bool) -> set[int]:
        node = graph.nodes[position]
        direct = node.downstream if below else node.upstream
        return set(direct).union(*(reach(one, below) for one in direct)) if direct else set()

    for node in graph.nodes:
        rule = node.task.weight_rule
        others = set() if rule == "absolute" else reach(node.index, rule == "downstream")
        expected = node.task.priority_weight + sum(graph.nodes[one].task.priority_weight for one in others)
        assert node.weight == max(-(2**31 - 1), min(2**31 - 1, expected))
