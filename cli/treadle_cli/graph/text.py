"""A DAG drawn with line characters, from left to right; or, where that is too wide, a list of tasks and upstreams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from treadle.document import DagDocument
from treadle.mapped_tasks import mapped_tasks
from treadle_cli.graph.channel import Net, nets, tracks
from treadle_cli.graph.layers import Layered, layered

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
_LINES: Final = {
    LEFT | RIGHT: "─",
    LEFT: "─",
    RIGHT: "─",
    UP | DOWN: "│",
    UP: "│",
    DOWN: "│",
    DOWN | RIGHT: "┌",
    DOWN | LEFT: "┐",
    UP | RIGHT: "└",
    UP | LEFT: "┘",
    UP | DOWN | RIGHT: "├",
    UP | DOWN | LEFT: "┤",
    DOWN | LEFT | RIGHT: "┬",
    UP | LEFT | RIGHT: "┴",
    UP | DOWN | LEFT | RIGHT: "┼",
}
_ASCII: Final = str.maketrans("─│┌┐└┘├┤┬┴┼", "-|+++++++++")
_ARROW: Final = "> "


def drawing(dag: DagDocument, width: int, *, ascii_only: bool = False) -> str:
    """Draw ``dag`` within ``width`` columns; a line that crosses another without touching it is broken there."""
    if not dag.tasks:
        return "(no tasks)"
    text = _Canvas(dag).text()
    if max(map(len, text.splitlines())) > width:
        text = listing(dag)
    return text.translate(_ASCII) if ascii_only else text


def listing(dag: DagDocument) -> str:
    """List the tasks in topological order, each with its direct upstream tasks."""
    labels = _labels(dag)
    longest = max(map(len, labels.values()), default=0)
    return "\n".join(
        f"{labels[task.task_id]:<{longest}}  <- {', '.join(task.upstream)}" if task.upstream else labels[task.task_id]
        for task in dag.tasks
    )


def _labels(dag: DagDocument) -> dict[str, str]:
    mapped = mapped_tasks(dag)
    return {task.task_id: f"{task.task_id} [ ]" if task.task_id in mapped else task.task_id for task in dag.tasks}


class _Canvas:
    """The drawing in the making: characters by row, one layer and one channel after the other."""

    def __init__(self, dag: DagDocument) -> None:
        self.labels = _labels(dag)
        self.plan = layered({task.task_id: task.upstream for task in dag.tasks}, for_shared_lines=True)
        self.rows = _text_rows(self.plan)
        self.lines = [""] * (max(self.rows.values()) + 1)
        self.starts = {start for start, _ in self.plan.links}
        self.ends = {end for _, end in self.plan.links}

    def text(self) -> str:
        """Return the whole drawing."""
        for index, layer in enumerate(self.plan.layers):
            self._draw_layer(layer)
            if index + 1 < len(self.plan.layers):
                self._draw_channel(set(layer))
        return "\n".join(line.rstrip() for line in self.lines)

    def _draw_layer(self, layer: Sequence[str]) -> None:
        width = max(len(self._shown(name)) for name in layer)
        cells = {}
        for name in layer:
            leads_on = name in self.starts
            if name in self.plan.waypoints:
                cells[self.rows[name]] = "─" * (width + 1)
                continue
            shown = self._shown(name) + (" " if leads_on else "")
            cells[self.rows[name]] = shown + "─" * (width + 1 - len(shown)) if leads_on else shown
        self._append(cells, width + 1)

    def _shown(self, name: str) -> str:
        if name in self.plan.waypoints:
            return ""
        return (_ARROW if name in self.ends else "") + self.labels[name]

    def _draw_channel(self, layer: set[str]) -> None:
        links = [link for link in self.plan.links if link[0] in layer]
        bundle = nets(links, self.rows, self.rows)
        found = {net: 2 * track + 1 for net, track in (tracks(bundle) or {}).items()}
        width = max(found.values(), default=0) + 2
        self._append(_channel_cells(bundle, found, width), width)

    def _append(self, cells: Mapping[int, str], width: int) -> None:
        for row, line in enumerate(self.lines):
            self.lines[row] = line + cells.get(row, "").ljust(width)


def _text_rows(plan: Layered) -> dict[str, int]:
    """Return text rows: every second one, a layer moved by one where its channel could not be drawn clearly else."""
    rows: dict[str, int] = {}
    moved = 0
    for index, layer in enumerate(plan.layers):
        rows |= {name: 2 * plan.rows[name] + moved for name in layer}
        if index == 0:
            continue
        links = [link for link in plan.links if link[1] in set(layer)]
        if tracks(nets(links, rows, rows)) is None:
            moved = 1 - moved
            rows |= {name: 2 * plan.rows[name] + moved for name in layer}
    top = min(rows.values())
    return {name: row - top for name, row in rows.items()}


def _channel_cells(bundle: Sequence[Net], found: Mapping[Net, int], width: int) -> dict[int, str]:
    """Return the characters of a channel by row."""
    masks: dict[tuple[int, int], int] = {}
    for net in bundle:
        track = found.get(net)
        if track is None:
            _lay(masks, net.starts[0], 0, width, LEFT | RIGHT)
            continue
        for start in net.starts:
            _lay(masks, start, 0, track, LEFT | RIGHT)
        for end in net.ends:
            _lay(masks, end, track + 1, width, LEFT | RIGHT)
    # Vertical lines come last: where one crosses another net's line it stands on top of it, so that only nets which
    # lead to the same task touch.
    for net, track in found.items():
        for row in range(net.top, net.bottom + 1):
            joined = masks.get((row, track), 0) if row in net.ends else 0
            masks[row, track] = _vertical(net, row) | joined
    rows = {row for row, _ in masks}
    return {row: "".join(_LINES.get(masks.get((row, x), 0), " ") for x in range(width)) for row in rows}


def _vertical(net: Net, row: int) -> int:
    mask = (UP if row > net.top else 0) | (DOWN if row < net.bottom else 0)
    return mask | (LEFT if row in net.starts else 0) | (RIGHT if row in net.ends else 0)


def _lay(masks: dict[tuple[int, int], int], row: int, first: int, beyond: int, mask: int) -> None:
    for x in range(first, beyond):
        masks[row, x] = masks.get((row, x), 0) | mask
