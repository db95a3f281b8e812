"""The arguments of ``DAG`` and ``@dag``: their types and how each is made uniform.

Names, defaults and meanings follow ``airflow.sdk``; ``isolation`` is Treadle's own (design section 3.4). What the
servers cannot do yet is no argument, so that nothing is accepted and then ignored.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from treadle.moments import moment_of
from treadle.operators.arguments import Callbacks, Isolation, callbacks, count, isolation, optional, seconds_or_delta

if TYPE_CHECKING:
    from treadle.deadlines import DeadlineAlert


class DagArguments(TypedDict, total=False):
    """What a DAG takes besides its id."""

    description: str | None
    schedule: Any
    start_date: datetime | str | None
    end_date: datetime | str | None
    default_args: Mapping[str, Any] | None
    template_searchpath: str | Collection[str] | None
    template_undefined: type[Any] | None
    user_defined_macros: Mapping[str, Any] | None
    user_defined_filters: Mapping[str, Callable[..., Any]] | None
    max_active_tasks: int | None
    max_active_runs: int | None
    dagrun_timeout: timedelta | float | None
    catchup: bool | Literal["all", "last", "none"]
    overlap: Literal["wait", "skip"]
    doc_md: str | None
    params: Mapping[str, Any] | None
    is_paused_upon_creation: bool | None
    jinja_environment_kwargs: Mapping[str, Any] | None
    render_template_as_native_obj: bool
    tags: Collection[str]
    auto_register: bool
    fail_fast: bool
    on_success_callback: Callbacks
    on_failure_callback: Callbacks
    deadline: DeadlineAlert | Collection[DeadlineAlert] | None
    dag_display_name: str | None
    isolation: Isolation | None
    rerun_with_latest_version: bool | None


def deadlines(value: Any) -> tuple[DeadlineAlert, ...]:
    """Return one deadline or several as a tuple."""
    if value is None:
        return ()
    # Loaded on need: few files have deadlines.
    found: tuple[DeadlineAlert, ...] = importlib.import_module("treadle.deadlines").alerts(value)
    return found


def flag(value: Any) -> bool:
    """Return True or False; nothing else is taken for one."""
    if not isinstance(value, bool):
        raise ValueError("True or False")
    return value


def catchup(value: Any) -> bool | str:
    """Return what becomes of missed times: True (``all``), False (``last``) or ``none`` (case A10)."""
    if isinstance(value, bool):
        return value
    if value not in ("all", "last", "none"):
        raise ValueError("True or 'all', False or 'last', or 'none'")
    return "none" if value == "none" else bool(value == "all")


def overlap(value: Any) -> str:
    """Return what becomes of times that come while the DAG is at its run limit."""
    if value not in ("wait", "skip"):
        raise ValueError("'wait' or 'skip'")
    return str(value)


def tags(value: Any) -> frozenset[str]:
    """Return tags as a set of texts of at most 100 characters."""
    if isinstance(value, str) or not all(isinstance(one, str) and 0 < len(one) <= 100 for one in value or ()):
        raise ValueError("a list of texts of 1 to 100 characters")
    return frozenset(value or ())


def search_path(value: Any) -> tuple[str, ...]:
    """Return one folder or several as a tuple."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(str(one) for one in value)


DEFAULTS: Final[Mapping[str, Any]] = {
    "description": None,
    "schedule": None,
    "start_date": None,
    "end_date": None,
    "template_searchpath": (),
    "template_undefined": None,
    "user_defined_macros": None,
    "user_defined_filters": None,
    "max_active_tasks": None,
    "max_active_runs": None,
    "dagrun_timeout": None,
    "catchup": False,
    "overlap": "wait",
    "doc_md": None,
    "is_paused_upon_creation": None,
    "jinja_environment_kwargs": None,
    "render_template_as_native_obj": False,
    "tags": frozenset(),
    "auto_register": True,
    "fail_fast": False,
    "on_success_callback": (),
    "on_failure_callback": (),
    "deadline": (),
    "dag_display_name": None,
    "isolation": None,
    "rerun_with_latest_version": None,
}
"""Attribute by attribute: what a DAG has where nothing is said."""

NAMES: Final = frozenset(DEFAULTS) | {"dag_id", "default_args", "params"}
"""Every argument of ``DAG``."""

CONVERTERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "start_date": moment_of,
    "end_date": moment_of,
    "template_searchpath": search_path,
    "max_active_tasks": optional(count(1)),
    "max_active_runs": optional(count(1)),
    "dagrun_timeout": seconds_or_delta,
    "catchup": catchup,
    "overlap": overlap,
    "is_paused_upon_creation": optional(flag),
    "render_template_as_native_obj": flag,
    "tags": tags,
    "auto_register": flag,
    "fail_fast": flag,
    "on_success_callback": callbacks,
    "on_failure_callback": callbacks,
    "deadline": deadlines,
    "rerun_with_latest_version": optional(flag),
    "isolation": isolation,
}
"""Argument to the function that makes its value uniform, or raises ValueError with what was expected."""

RENAMED: Final[Mapping[str, str]] = {
    "schedule_interval": "use schedule=",
    "timetable": "use schedule=",
    "concurrency": "use max_active_tasks=",
    "fail_stop": "use fail_fast=",
}
"""Names that DAG files of older days use, and what to write instead."""
