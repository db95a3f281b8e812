"""A DAG as an SVG picture, from the same layers as the text drawing; nothing needs to be installed for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final
from xml.sax.saxutils import escape

from treadle.document import DagDocument, TaskDocument
from treadle.mapped_tasks import mapped_homes
from treadle_cli.graph.layers import Layered, layered

BOX_HEIGHT: Final = 44
ROW: Final = 64
GAP: Final = 72
MARGIN: Final = 24
CHARACTER: Final = 8.0
"""Width of a character of the labels' 13 px monospaced font, with some room."""

_STYLE: Final = """
    text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #1c2733 }
    .operator { font-size: 10px; fill: #5b6b7b }
    .label { font-size: 11px; fill: #5b6b7b }
    rect { fill: #eef3f8; stroke: #7d93a8 }
    path { fill: none; stroke: #7d93a8; stroke-width: 1.5 }
"""


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.y + BOX_HEIGHT / 2


def svg(dag: DagDocument) -> str:
    """Return the SVG text of ``dag``."""
    plan = layered({task.task_id: task.upstream for task in dag.tasks})
    homes = mapped_homes(dag)
    tasks = {
        task.task_id: replace(task, expand=homes[task.task_id].expand) if task.task_id in homes else task
        for task in dag.tasks
    }
    boxes = _boxes(plan, tasks)
    width = max((box.x + box.width for box in boxes.values()), default=0.0) + MARGIN
    height = max((box.y + BOX_HEIGHT for box in boxes.values()), default=0.0) + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img">',
            f"  <title>{escape(dag.dag_id)}</title>",
            f"  <style>{_STYLE}  </style>",
            '  <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 L8 4 L0 8 z" style="fill: #7d93a8; stroke: none"/></marker>',
            f'  <rect width="{width:g}" height="{height:g}" style="fill: white; stroke: none"/>',
            *_edges(plan, boxes),
            *_edge_labels(dag, boxes),
            *_tasks(tasks, boxes),
            "</svg>",
            "",
        ]
    )


def _boxes(plan: Layered, tasks: Mapping[str, TaskDocument]) -> dict[str, _Box]:
    boxes: dict[str, _Box] = {}
    x = float(MARGIN)
    for layer in plan.layers:
        widths = {name: 28 + CHARACTER * len(_label(tasks[name])) for name in layer if name in tasks}
        width = max(widths.values(), default=0.0)
        for name in layer:
            boxes[name] = _Box(x, MARGIN + ROW * plan.rows[name], widths.get(name, 0.0) and width)
        x += width + GAP
    return boxes


def _edges(plan: Layered, boxes: Mapping[str, _Box]) -> Iterator[str]:
    for start, end in plan.links:
        one, other = boxes[start], boxes[end]
        x1, x2, bend = one.x + one.width, other.x, GAP / 2
        arrow = "" if end in plan.waypoints else ' marker-end="url(#arrow)"'
        curve = f"C{x1 + bend:g} {one.middle:g} {x2 - bend:g} {other.middle:g} {x2:g} {other.middle:g}"
        yield f'  <path d="M{x1:g} {one.middle:g} {curve}"{arrow}/>'


def _edge_labels(dag: DagDocument, boxes: Mapping[str, _Box]) -> Iterator[str]:
    for start, end, label in dag.edge_labels:
        one, other = boxes[start], boxes[end]
        x, y = (one.x + one.width + other.x) / 2, (one.middle + other.middle) / 2 - 4
        yield f'  <text class="label" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(label)}</text>'


def _tasks(tasks: Mapping[str, TaskDocument], boxes: Mapping[str, _Box]) -> Iterator[str]:
    for name, task in tasks.items():
        box = boxes[name]
        middle = box.x + box.width / 2
        yield f'  <rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{BOX_HEIGHT}" rx="8"/>'
        yield f'  <text x="{middle:g}" y="{box.y + 19:g}" text-anchor="middle">{escape(_label(task))}</text>'
        operator = f'<text class="operator" x="{middle:g}" y="{box.y + 34:g}" text-anchor="middle">'
        yield f"  {operator}{escape(task.operator)}</text>"


def _label(task: TaskDocument) -> str:
    name = task.display_name or task.task_id
    return f"{name} [ ]" if task.expand else name
