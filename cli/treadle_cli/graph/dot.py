"""A DAG in the DOT language of Graphviz, with task groups as clusters."""

from __future__ import annotations

import json
from collections.abc import Iterator

from treadle.document import DagDocument, GroupDocument, TaskDocument


def dot(dag: DagDocument) -> str:
    """Return the DOT text of ``dag``."""
    labels = {(start, end): label for start, end, label in dag.edge_labels}
    lines = [
        f"digraph {_quoted(dag.dag_id)} {{",
        '  graph [rankdir=LR, fontname="sans-serif"];',
        '  node [shape=box, style="rounded,filled", fillcolor="#eef3f8", fontname="sans-serif"];',
        *_inside(dag, None, "  "),
    ]
    for task in dag.tasks:
        for parent in task.upstream:
            label = labels.get((parent, task.task_id))
            tail = f" [label={_quoted(label)}]" if label else ""
            lines.append(f"  {_quoted(parent)} -> {_quoted(task.task_id)}{tail};")
    return "\n".join([*lines, "}", ""])


def _inside(dag: DagDocument, group_id: str | None, indent: str) -> Iterator[str]:
    for task in dag.tasks:
        if task.group_id == group_id:
            yield f"{indent}{_quoted(task.task_id)} [label={_quoted(_label(task))}];"
    for group in dag.groups:
        if group.parent == group_id:
            yield from _cluster(dag, group, indent)


def _cluster(dag: DagDocument, group: GroupDocument, indent: str) -> Iterator[str]:
    suffix = " [ ]" if group.expand else ""
    yield f"{indent}subgraph {_quoted('cluster_' + group.group_id)} {{"
    yield f"{indent}  label={_quoted((group.label or group.group_id) + suffix)}; style=rounded;"
    yield from _inside(dag, group.group_id, indent + "  ")
    yield f"{indent}}}"


def _label(task: TaskDocument) -> str:
    name = task.display_name or task.task_id
    return f"{name} [ ]" if task.expand else name


def _quoted(text: str) -> str:
    # DOT's quoted strings escape as JSON's do, but for characters beyond ASCII, which both take as they are.
    return json.dumps(text, ensure_ascii=False)
