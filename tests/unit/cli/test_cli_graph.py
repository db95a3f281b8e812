"""Drawings of DAGs. The text drawing is read back by following its lines, and must tell exactly the DAG's edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.document import DagDocument, ExpandArgument, ExpandDocument, GroupDocument, TaskDocument
from treadle_cli.graph.dot import dot
from treadle_cli.graph.layers import layered
from treadle_cli.graph.svg import svg
from treadle_cli.graph.text import DOWN, LEFT, RIGHT, UP, drawing

MASKS = {
    "─": LEFT | RIGHT,
    "│": UP | DOWN,
    "┌": DOWN | RIGHT,
    "┐": DOWN | LEFT,
    "└": UP | RIGHT,
    "┘": UP | LEFT,
    "├": UP | DOWN | RIGHT,
    "┤": UP | DOWN | LEFT,
    "┬": DOWN | LEFT | RIGHT,
    "┴": UP | LEFT | RIGHT,
    "┼": UP | DOWN | LEFT | RIGHT,
}
Graph = Mapping[str, Sequence[str]]


def dag_of(upstream: Graph) -> DagDocument:
    return DagDocument("example", tasks=tuple(TaskDocument(name, upstream=tuple(up)) for name, up in upstream.items()))


class Reader:
    """Follows the lines of a drawing as an eye does."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        width = max(map(len, lines))
        self.grid = [line.ljust(width) for line in lines]

    def edges(self, names: Sequence[str]) -> set[tuple[str, str]]:
        return {(name, end) for name in names for end in self._reached(name)}

    def _reached(self, name: str) -> set[str]:
        row = next(index for index, line in enumerate(self.grid) if name in self._labels(line))
        start = self._labels(self.grid[row])[name] + len(name)
        found: set[str] = set()
        if self.grid[row][start : start + 2].strip(" "):
            self._right(row, start + 1, found)
        return found

    @staticmethod
    def _labels(line: str) -> dict[str, int]:
        words, at = {}, 0
        for word in line.split(" "):
            if word and word[0].isalpha() and word[0].isascii():
                words[word] = at
            at += len(word) + 1
        return words

    def _right(self, row: int, x: int, found: set[str]) -> None:
        """Go right from the cell (row, x), taking every turn of a vertical line that this line runs into."""
        while True:
            cell = self.grid[row][x]
            if cell == ">":
                found.add(self.grid[row][x + 2 :].split(" ")[0])
                return
            mask = MASKS[cell]
            if mask & LEFT and mask & (UP | DOWN):
                for step, side in ((-1, UP), (1, DOWN)):
                    self._along(row, x, step, side, found)
                if not mask & RIGHT:
                    return
            elif not mask & LEFT:
                assert cell == "│", f"a line runs into {cell} in row {row}, column {x}"
            x += 1

    def _along(self, row: int, x: int, step: int, side: int, found: set[str]) -> None:
        while MASKS[self.grid[row][x]] & side:
            row += step
            if MASKS[self.grid[row][x]] & RIGHT:
                self._right_only(row, x, found)

    def _right_only(self, row: int, x: int, found: set[str]) -> None:
        self._right(row, x + 1, found)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    names = [f"t{index}" for index in range(draw(st.integers(1, 14)))]
    return {
        name: sorted(draw(st.sets(st.sampled_from(names[:index]), max_size=4))) if index else []
        for index, name in enumerate(names)
    }


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_the_lines_of_a_drawing_tell_exactly_the_edges(graph: dict[str, list[str]]) -> None:
    text = drawing(dag_of(graph), 10_000)
    expected = {(up, name) for name, ups in graph.items() for up in ups}
    assert Reader(text).edges(list(graph)) == expected, text


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_layers_run_from_left_to_right_and_no_two_tasks_share_a_place(graph: dict[str, list[str]]) -> None:
    plan = layered(graph)
    layer_of = {name: index for index, layer in enumerate(plan.layers) for name in layer}
    assert all(layer_of[end] == layer_of[start] + 1 for start, end in plan.links)
    for layer in plan.layers:
        rows = [plan.rows[name] for name in layer]
        assert rows == sorted(set(rows))
    assert set(graph) == set(layer_of) - set(plan.waypoints)


def test_a_fork_and_a_join_look_like_one() -> None:
    graph = {"extract": [], "clean": ["extract"], "check": ["extract"], "load": ["check", "clean"]}
    assert drawing(dag_of(graph), 80).splitlines() == [
        "extract ─┬─> clean ─┬─> load",
        "         │          │",
        "         └─> check ─┘",
    ]


def test_a_terminal_without_line_characters_gets_ascii() -> None:
    graph = {"a": [], "b": ["a"], "c": ["a"]}
    assert drawing(dag_of(graph), 80, ascii_only=True).splitlines() == ["a -+-> b", "   |", "   +-> c"]


def test_a_drawing_that_is_too_wide_becomes_a_list_of_upstreams() -> None:
    graph = {"first_of_all": [], "second_of_all": ["first_of_all"], "third": ["first_of_all", "second_of_all"]}
    assert drawing(dag_of(graph), 40).splitlines() == [
        "first_of_all",
        "second_of_all  <- first_of_all",
        "third          <- first_of_all, second_of_all",
    ]


def test_a_dag_without_tasks_says_so() -> None:
    assert drawing(DagDocument("empty"), 80) == "(no tasks)"
    ElementTree.fromstring(svg(DagDocument("empty")))


def test_a_large_joined_graph_is_drawn_quickly() -> None:
    layers = [[f"t{layer}_{index}" for index in range(40)] for layer in range(10)]
    graph = {name: layers[at - 1] if at else [] for at, layer in enumerate(layers) for name in layer}
    text = drawing(dag_of(graph), 10_000)
    assert len(text.splitlines()) == 79


def test_mapped_tasks_are_marked() -> None:
    task = TaskDocument("each", expand=ExpandDocument("product", ()))
    assert drawing(DagDocument("x", tasks=(task,)), 80) == "each [ ]"


def test_the_tasks_of_a_mapped_group_are_marked() -> None:
    expand = ExpandDocument("product", (ExpandArgument("x", length=2),))
    groups = GroupDocument("g", expand=expand), GroupDocument("g.inner", parent="g")
    document = DagDocument("x", tasks=(TaskDocument("g.inner.a", group_id="g.inner"),), groups=groups)
    assert drawing(document, 80) == "g.inner.a [ ]"
    assert ">g.inner.a [ ]<" in svg(document)


@given(graphs())
def test_svg_has_a_box_for_each_task_and_an_arrow_for_each_edge(graph: dict[str, list[str]]) -> None:
    picture = ElementTree.fromstring(svg(dag_of(graph)))
    space = "{http://www.w3.org/2000/svg}"
    arrows = [path for path in picture.iter(f"{space}path") if path.get("marker-end")]
    assert len(list(picture.iter(f"{space}rect"))) == len(graph) + 1
    # Edges of one task that pass the same waypoint arrive one by one, so each edge has an arrow of its own.
    assert len(arrows) == sum(len(ups) for ups in graph.values())


def test_svg_escapes_what_users_wrote() -> None:
    task = TaskDocument("a", display_name="<b> & 'c'")
    texts = [one.text for one in ElementTree.fromstring(svg(DagDocument("<x>", tasks=(task,)))).iter()]
    assert "<b> & 'c'" in texts
    assert "<x>" in texts


def test_dot_names_every_edge_and_nests_groups() -> None:
    dag = DagDocument(
        'say "x"',
        groups=(GroupDocument("g", label="Group"), GroupDocument("g.inner", parent="g")),
        tasks=(TaskDocument("a"), TaskDocument("g.inner.b", group_id="g.inner", upstream=("a",))),
        edge_labels=(("a", "g.inner.b", "if new"),),
    )
    text = dot(dag)
    assert text.startswith('digraph "say \\"x\\"" {')
    assert '"a" -> "g.inner.b" [label="if new"];' in text
    assert text.index('subgraph "cluster_g"') < text.index('subgraph "cluster_g.inner"') < text.index('"g.inner.b" [')
    assert text.count("{") == text.count("}")
