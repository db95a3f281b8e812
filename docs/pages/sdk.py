"""The page of the SDK: what ``treadle``, its operators and sensors offer, from their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, Final, ForwardRef

from docs.pages import meanings
from docs.pages.markdown import code, prose, sentence, table

import treadle
from treadle import dag_arguments, errors, operators, sensors
from treadle.operators import arguments
from treadle.runtime.context import context_keys

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "DAGs": ("DAG", "dag"),
    "Tasks": ("task", "TaskGroup", "task_group", "chain", "chain_linear", "cross_downstream", "Label", "XComArg"),
    "Operators": tuple(name for name in operators.__all__ if name != "MappedOperator"),
    "Sensors": tuple(name for name in sensors.__all__ if name != "BaseSensorOperator"),
    "Params and templates": ("Param", "ParamsDict", "DagParam", "TemplateFile", "literal"),
    "While a task runs": ("get_current_context", "Context", "Variable", "Connection"),
    "Callbacks and deadlines": (
        *("BaseNotifier", "SmtpNotifier", "WebhookNotifier"),
        *("DeadlineAlert", "DeadlineReference", "SyncCallback", "AsyncCallback"),
    ),
    "Retry policies": ("ExceptionRetryPolicy", "RetryRule", "RetryAction", "RetryPolicy", "RetryDecision"),
    "Rules": ("TriggerRule", "WeightRule", "PriorityWeightStrategy"),
    "Assets": ("Asset", "Dataset", "AssetAlias", "AssetAll", "AssetAny", "Metadata", "asset", "AssetOrTimeSchedule"),
    "Partitions": (
        "PartitionedAtRuntime",
        *(name for name in treadle.__all__ if name.endswith(("Mapper", "Window"))),
        "WaitForAll",
        "MinimumCount",
    ),
}
"""Names by heading; what of ``treadle.__all__`` is in none of them stands under its own heading or the last one."""

INTERNAL: Final = frozenset(
    {"argument", "child_id", "clocks", "documents", "finish_construction", "free_group_id", "free_id", "item"}
    | {"items_wanted", "label_from", "label_to", "length", "references", "resolve", "root_of", "run_command", "site"}
    | {"ticks", "to_document", "rendered", "document"}
)
"""Members that only Treadle itself calls."""

PREFACE: Final = """\
# SDK

What DAG files import: `from treadle import DAG, dag, task`. Names are loaded on first use; `import treadle` itself
imports nothing else. Names, parameters, defaults and meanings follow `airflow.sdk` unless said otherwise.
"""


def page() -> str:
    """Return the page."""
    return "\n".join((PREFACE, *_groups(), *_arguments(), *_context(), *_errors()))


def _groups() -> Iterator[str]:
    timetables = tuple(name for name in treadle.__all__ if name.endswith("Timetable"))
    known = {one for names in GROUPS.values() for one in names} | set(timetables)
    others = tuple(name for name in treadle.__all__ if name not in known and not _is_error(name) and name[0] != "_")
    for title, names in {**GROUPS, "Timetables": timetables, "Further names": others}.items():
        if names:
            yield f"## {title}\n"
        for name in names:
            yield from _entry(name, _found(name))


def _found(name: str) -> Any:
    return getattr(_home(name), name)


def _home(name: str) -> Any:
    return next(one for one in (treadle, operators, sensors) if name in one.__all__)


def _is_error(name: str) -> bool:
    found = _found(name)
    return isinstance(found, type) and issubclass(found, BaseException)


def _entry(name: str, found: Any) -> Iterator[str]:
    home = _home(name)
    yield f"### {name}{'' if home is treadle else f' (from `{home.__name__}`)'}\n"
    if not inspect.isclass(found) and not inspect.isroutine(found):
        yield from _decorators(name, found)
        return
    if not (inspect.isclass(found) and issubclass(found, Enum)):
        yield f"```text\n{name}{_signature(found)}\n```\n"
    yield f"{prose(inspect.getdoc(found))}\n"
    if inspect.isclass(found):
        yield from _members(found)


def _decorators(name: str, found: Any) -> Iterator[str]:
    yield f"{prose(inspect.getdoc(type(found)))}\n"
    variants = [one for one, value in vars(type(found)).items() if inspect.isfunction(value) and one[0] != "_"]
    lines = [(code(f"@{name}.{one}"), sentence(inspect.getdoc(getattr(found, one)))) for one in variants]
    yield f"{table(('variant', 'makes'), lines)}\n"


def _members(found: type[Any]) -> Iterator[str]:
    if issubclass(found, Enum):
        values = [one.value if isinstance(one.value, str) else one.name for one in found]
        yield "Values: " + ", ".join(map(code, values)) + ".\n"
        return
    lines = []
    for name, value in vars(found).items():
        if name.startswith("_") or name in INTERNAL or not (doc := inspect.getdoc(_plain(value))):
            continue
        if inspect.isfunction(_plain(value)):
            lines.append((code(f"{name}{_signature(getattr(found, name), without_self=True)}"), sentence(doc)))
        elif isinstance(value, property):
            lines.append((code(name), sentence(doc)))
    if lines:
        yield f"{table(('member', 'meaning'), lines)}\n"


def _plain(value: Any) -> Any:
    return value.__func__ if isinstance(value, (classmethod, staticmethod)) else value


def _signature(found: Callable[..., Any], *, without_self: bool = False) -> str:
    signature = inspect.signature(found)
    parameters = list(signature.parameters.values())
    if without_self and parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    shown = signature.replace(parameters=[one.replace(annotation=one.empty) for one in parameters])
    text = str(shown.replace(return_annotation=inspect.Signature.empty))
    # Sentinels have no short name of their own.
    return re.sub(r"<[^<>]*>", "...", text)


def _arguments() -> Iterator[str]:
    yield "## Arguments of DAGs\n"
    yield "What `DAG` and `@dag` take besides the id.\n"
    yield _argument_table(dag_arguments.DagArguments, dag_arguments.DEFAULTS, meanings.DAG_ARGUMENTS)
    yield "\n## Arguments of all tasks\n"
    yield "What every operator and `@task` take besides `task_id`. Times are `timedelta` or seconds.\n"
    yield _argument_table(arguments.OperatorArguments, arguments.DEFAULTS, meanings.TASK_ARGUMENTS)


def _argument_table(kind: type[Any], defaults: Mapping[str, Any], said: Mapping[str, str]) -> str:
    lines = [
        (code(name), code(_annotation(annotation)), code(_default(defaults.get(name))), said.get(name, ""))
        for name, annotation in kind.__annotations__.items()
    ]
    return table(("argument", "type", "default", "meaning"), lines)


def _annotation(annotation: Any) -> str:
    return annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else str(annotation)


def _default(value: Any) -> str:
    if isinstance(value, Enum):
        return repr(value.value)
    if isinstance(value, frozenset):
        return "()"
    return repr(value).removeprefix("datetime.")


def _context() -> Iterator[str]:
    yield "\n## The context of a task\n"
    yield (
        "A parameter of an `@task` function that has one of these names is filled in; templates and\n"
        "`execute(context)` have them all. Names that tell of the logical date are absent in a run without one.\n"
    )
    said = meanings.CONTEXT
    places = {name: place for place, name in enumerate(said)}
    names = sorted(context_keys(), key=lambda name: (places.get(name, len(places)), name))
    yield table(("name", "gives"), [(code(name), said.get(name, "")) for name in names])


def _errors() -> Iterator[str]:
    yield "\n## Errors\n"
    yield "`SkipTask` and `FailTask` are for your own tasks to raise. All stand in `treadle.errors`.\n"
    tree = (inspect.getdoc(errors) or "").partition("\n\n")[2]
    yield f"```text\n{tree}\n```"
