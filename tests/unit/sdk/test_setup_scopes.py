"""Scopes of setups over generated graphs, against definitions by enumeration of paths."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from treadle import scopes


@dataclass(frozen=True)
class Scoped:
    task_id: str
    is_setup: bool = False
    is_teardown: bool = False
    on_failure_fail_dagrun: bool = False


@dataclass(frozen=True)
class Graph:
    tasks: list[Scoped]
    upstream: dict[str, set[str]]

    def paths_from(self, start: str) -> list[list[str]]:
        """Return every path that begins at ``start``, by walking."""
        heads = [one for one in self.upstream if start in self.upstream[one]]
        return [[start], *([start, *rest] for head in heads for rest in self.paths_from(head))]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 7))
    kinds = st.sampled_from([(False, False, False), (True, False, False), (False, True, False), (False, True, True)])
    tasks = [Scoped(str(number), *draw(kinds)) for number in range(size)]
    upstream = {str(head): {str(tail) for tail in range(head) if draw(st.booleans())} for head in range(size)}
    return Graph(tasks, upstream)


@given(graphs())
def test_a_scope_is_what_lies_on_a_path_from_the_setup_to_a_teardown_of_it(graph: Graph) -> None:
    teardowns = {one.task_id for one in graph.tasks if one.is_teardown}
    for setup, members in scopes.scopes(graph.tasks, graph.upstream).items():
        own = {one for one in teardowns if setup in graph.upstream[one]}
        paths = [path for path in graph.paths_from(setup) if not own or path[-1] in own]
        expected = {one for path in paths for one in path if one != setup} - teardowns
        assert members == expected


@given(graphs())
def test_every_member_of_a_scope_is_guarded_by_the_setup_or_waits_for_it(graph: Graph) -> None:
    guards = scopes.guarding_setups(graph.tasks, graph.upstream)
    for setup, members in scopes.scopes(graph.tasks, graph.upstream).items():
        for member in members:
            assert (setup in guards.get(member, set())) != (setup in graph.upstream[member])
    assert all(guards.values())


@given(graphs())
def test_a_teardown_awaits_what_lies_between_its_setups_and_itself(graph: Graph) -> None:
    found = scopes.awaited_by_teardowns(graph.tasks, graph.upstream)
    setups = scopes.setups_of(graph.tasks, graph.upstream)
    assert found.keys() == {one for one, own in setups.items() if own}
    for teardown, between in found.items():
        paths = [path for one in setups[teardown] for path in graph.paths_from(one) if path[-1] == teardown]
        assert between == {one for path in paths for one in path[1:-1]}


@given(graphs())
def test_the_leaves_that_decide_are_the_leaves_of_the_graph_without_harmless_teardowns(graph: Graph) -> None:
    kept = [one for one in graph.tasks if not one.is_teardown or one.on_failure_fail_dagrun]
    leaves = [one.task_id for one in kept if not any(one.task_id in graph.upstream[other.task_id] for other in kept)]
    assert scopes.deciding_leaves(graph.tasks, graph.upstream) == (leaves or [one.task_id for one in graph.tasks])
