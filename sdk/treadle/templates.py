"""Marks for operator arguments that say how they are rendered: never, or from a file.

Plain strings in template fields are Jinja templates, whatever they end in: a command ``/opt/x.sh`` is run as typed
(case G7). A template that stands in a file of its own is named with :class:`TemplateFile`. The task runtime reads
both marks.
"""

from __future__ import annotations

from typing import Any


class literal:  # noqa: N801 - a function to its users, as in airflow.sdk
    """A value that is handed to the task as it is: nothing in it is rendered.

    Example: ``BashOperator(task_id="a", bash_command=literal("echo {{ not a template }}"))``.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, literal) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"literal({self.value!r})"


class TemplateFile:
    """A template that stands in a file, found in ``template_searchpath`` or beside the DAG file.

    Example: ``BashOperator(task_id="load", bash_command=TemplateFile("sql/load.sh"))``. The file is read when the
    task runs.
    """

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = str(path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TemplateFile) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"TemplateFile({self.path!r})"
