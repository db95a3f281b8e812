"""The Jinja environment of a DAG. The only module of the SDK that loads jinja2; loaded when a template is met.

Templates run in a sandbox: they reach attributes of one leading underscore, none of two, and change nothing that the
sandbox guards. An undefined name is an error, not an empty text. Text is kept as written, its last line feed too.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import concat, consume

from treadle.wording import shown

if TYPE_CHECKING:
    from treadle.dags import DAG


class _Sandbox(SandboxedEnvironment):
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        # One underscore is a convention among people; two open the interpreter. Frames, code objects and the like
        # stay out by jinja2's own list.
        return not attr.startswith("__") and super().is_safe_attribute(obj, attr.lstrip("_") or attr, value)


FILTERS: Final[Mapping[str, Callable[[datetime], str]]] = {
    "ds": lambda date: date.strftime("%Y-%m-%d"),
    "ds_nodash": lambda date: date.strftime("%Y%m%d"),
    "ts": lambda date: date.isoformat(),
    "ts_nodash": lambda date: date.strftime("%Y%m%dT%H%M%S"),
    "ts_nodash_with_tz": lambda date: date.isoformat().replace("-", "").replace(":", ""),
}
"""Filters of dates, named as the context's keys are."""


class JinjaEngine:
    """Renders texts for one attempt of a task of ``dag``."""

    def __init__(self, dag: DAG, context: Mapping[str, Any], folders: Sequence[str]) -> None:
        options: dict[str, Any] = {
            "undefined": dag.template_undefined or StrictUndefined,
            "extensions": ["jinja2.ext.do"],
            "loader": FileSystemLoader(folders),
            "cache_size": 0,
            "keep_trailing_newline": True,
        }
        self._environment = _Sandbox(**{**options, **(dag.jinja_environment_kwargs or {})})
        self._environment.globals.update(dag.user_defined_macros or {})
        self._environment.filters.update({**FILTERS, **(dag.user_defined_filters or {})})
        # Looked up name by name: jinja2's own render() would copy the context, and so make every lazy value.
        self._names: Any = ChainMap(context, self._environment.globals)  # type: ignore[arg-type]

    def render(self, text: str, *, native: bool) -> Any:
        """Return ``text`` filled out; with ``native``, a text that is one expression gives its value (case G5)."""
        if native:
            tree = self._environment.parse(text)
            expression = _only_expression(tree)
            if expression is not None:
                return self._value(expression)
        template = self._environment.from_string(text)
        return concat(template.root_render_func(template.new_context(self._names, shared=True)))

    def _value(self, expression: nodes.Expr) -> Any:
        body: list[nodes.Node] = [nodes.Assign(nodes.Name("result", "store"), expression, lineno=1)]
        template = self._environment.from_string(nodes.Template(body, lineno=1))
        context = template.new_context(self._names, shared=True)
        consume(template.root_render_func(context))
        value = context.vars["result"]
        if isinstance(value, Undefined):
            str(value)  # a strict one raises here, a lenient one is an empty text
            return None
        return value

    @staticmethod
    def is_template_error(error: Exception) -> bool:
        """Return whether ``error`` is about the template rather than from code that it calls."""
        return isinstance(error, TemplateError)

    @staticmethod
    def reason(error: TemplateError) -> str:
        """Return what is wrong."""
        return error.message or shown(error)

    @staticmethod
    def line(error: Exception) -> int | None:
        """Return the line of the template where ``error`` arose, if it arose in one."""
        if isinstance(error, TemplateSyntaxError):
            return error.lineno
        found, frames = None, error.__traceback__
        while frames is not None:
            template = frames.tb_frame.f_globals.get("__jinja_template__")
            # jinja2's own rewriting of the traceback would make every lazy value of the context.
            found = template.get_corresponding_lineno(frames.tb_lineno) if template is not None else found
            frames = frames.tb_next
        return found


def _only_expression(tree: nodes.Template) -> nodes.Expr | None:
    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output):
        return None
    parts = tree.body[0].nodes
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData) else None
