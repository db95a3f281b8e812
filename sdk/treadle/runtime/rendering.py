"""Renders a task's template fields: results of other tasks put in, Jinja templates in texts filled out.

The task runtime calls :class:`Renderer` once per attempt. jinja2 is loaded only when a text really holds a template.
What another task returned, and anything in ``literal``, is data and never taken for a template. A text is a template
whatever it ends in: nothing is looked up as a file unless it is a ``TemplateFile`` (case G7).
"""

from __future__ import annotations

import copy
import importlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treadle.errors import TemplateFieldError
from treadle.resolvable import Resolvable, Resolver
from treadle.templates import TemplateFile, literal

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.operators.base import BaseOperator


def has_template(text: str) -> bool:
    """Return whether ``text`` holds the marks of a Jinja template."""
    return "{" in text and ("{{" in text or "{%" in text or "{#" in text)


class Renderer:
    """Renders values for one attempt."""

    def __init__(self, dag: DAG, context: Mapping[str, Any], resolver: Resolver, *, native: bool) -> None:
        self._dag = dag
        self._context = context
        self._resolver = resolver
        self._native = native
        self._engine: Any = None

    def render_fields(self, task: BaseOperator) -> dict[str, Any]:
        """Render the template fields of ``task`` in place; return those that hold anything.

        Raises:
            TemplateFieldError: a template is wrong or names something that is not there.
        """
        rendered = {}
        for name in task.template_fields:
            before = getattr(task, name, None)
            if before is None or (type(before) in (list, tuple, dict) and not before):
                continue
            after = self._render_field(task.task_id, name, before)
            if after is not before:
                setattr(task, name, after)
            rendered[name] = after
        return rendered

    def _render_field(self, task_id: str, name: str, value: Any) -> Any:
        try:
            return self.render(value)
        except Exception as error:
            line = self._engine.line(error) if self._engine is not None else None
            where = f"line {line} of its template" if line is not None else ""
            if self._engine is None or not self._engine.is_template_error(error):
                error.add_note(f"while template field {name} of task {task_id} was rendered{where and ': ' + where}")
                raise
            raise TemplateFieldError(task_id, name, self._engine.reason(error) + (where and f" ({where})")) from error

    def render(self, value: Any) -> Any:
        """Return ``value`` rendered, through lists, tuples, dicts, sets and objects with ``template_fields``."""
        if isinstance(value, str):
            return self.render_text(value) if has_template(value) else value
        if isinstance(value, literal):
            return value.value
        if isinstance(value, Resolvable):
            return value.resolve(self._resolver)
        if isinstance(value, TemplateFile):
            return self._render_file(value)
        if isinstance(value, dict):
            return {key: self.render(item) for key, item in value.items()}
        return self._render_other(value)

    def _render_other(self, value: Any) -> Any:
        kind = type(value)
        if kind in (list, tuple, set, frozenset):
            return kind(self.render(item) for item in value)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return kind(*(self.render(item) for item in value))
        fields = getattr(kind, "template_fields", None)
        if isinstance(fields, (list, tuple)) and not isinstance(value, type):
            made = copy.copy(value)
            for name in fields:
                setattr(made, name, self.render(getattr(value, name, None)))
            return made
        return value

    def render_text(self, text: str) -> Any:
        """Return a text with its template filled out; with native rendering, the value of a single expression."""
        return self._jinja().render(text, native=self._native)

    def _render_file(self, file: TemplateFile) -> Any:
        for folder in self._folders():
            path = os.path.join(folder, file.path)
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as opened:
                    text = opened.read()
                return self.render_text(text) if has_template(text) else text
        raise FileNotFoundError(f"template file {file.path!r} is in none of {', '.join(self._folders())}")

    def _folders(self) -> list[str]:
        return [*self._dag.template_searchpath, os.path.dirname(self._dag.fileloc) or "."]

    def _jinja(self) -> Any:
        if self._engine is None:
            # jinja2 costs more to load than a plain task takes to run.
            engine = importlib.import_module("treadle.runtime.jinja_engine").JinjaEngine
            self._engine = engine(self._dag, self._context, self._folders())
        return self._engine
