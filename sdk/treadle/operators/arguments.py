"""The arguments that every operator has: their types, defaults and how each is made uniform.

``BaseOperator`` and the ``@task`` decorators take them as keywords. Names, defaults and meanings follow
``airflow.sdk``; ``isolation`` is Treadle's own (design section 3.4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from treadle.errors import InvalidArgumentError
from treadle.moments import moment_of
from treadle.priority import PriorityWeightStrategy, weight_rule
from treadle.rules import TriggerRule, WeightRule
from treadle.source import Site
from treadle.wording import did_you_mean

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.retry_policies import RetryPolicy
    from treadle.task_groups import TaskGroup

Callback = Callable[[Any], Any]
"""Called with the context of the attempt."""

Callbacks = Callback | Sequence[Callback] | None

Isolation = Literal["process", "shared"]
"""``process``: a fresh process for each attempt. ``shared``: a process may run several attempts of a DAG in turn."""


class OperatorArguments(TypedDict, total=False):
    """What every operator takes besides ``task_id``; times as ``timedelta`` or seconds."""

    owner: str
    retries: int | None
    retry_delay: timedelta | float
    retry_exponential_backoff: float | bool
    max_retry_delay: timedelta | float | None
    retry_policy: RetryPolicy | None
    start_date: datetime | str | None
    end_date: datetime | str | None
    depends_on_past: bool
    ignore_first_depends_on_past: bool
    wait_for_downstream: bool
    dag: DAG | None
    task_group: TaskGroup | None
    params: Mapping[str, Any] | None
    default_args: Mapping[str, Any] | None
    priority_weight: int
    weight_rule: str | PriorityWeightStrategy | type[PriorityWeightStrategy]
    queue: str
    pool: str
    pool_slots: int
    execution_timeout: timedelta | float | None
    on_execute_callback: Callbacks
    on_success_callback: Callbacks
    on_failure_callback: Callbacks
    on_retry_callback: Callbacks
    on_skipped_callback: Callbacks
    pre_execute: Callable[[Any], Any] | None
    post_execute: Callable[[Any, Any], Any] | None
    trigger_rule: str
    map_index_template: str | None
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    executor: str | None
    executor_config: Mapping[str, Any] | None
    do_xcom_push: bool
    multiple_outputs: bool
    doc: str | None
    doc_md: str | None
    doc_json: str | None
    doc_yaml: str | None
    doc_rst: str | None
    task_display_name: str | None
    logger_name: str | None
    allow_nested_operators: bool
    render_template_as_native_obj: bool | None
    isolation: Isolation | None
    inlets: Any
    outlets: Any


DEFAULTS: Final[Mapping[str, Any]] = {
    "owner": "treadle",
    "retries": 0,
    "retry_delay": timedelta(seconds=300),
    "retry_exponential_backoff": 0.0,
    "max_retry_delay": None,
    "retry_policy": None,
    "start_date": None,
    "end_date": None,
    "depends_on_past": False,
    "ignore_first_depends_on_past": False,
    "wait_for_downstream": False,
    "priority_weight": 1,
    "weight_rule": WeightRule.DOWNSTREAM,
    "queue": "default",
    "pool": "default_pool",
    "pool_slots": 1,
    "execution_timeout": None,
    "on_execute_callback": (),
    "on_success_callback": (),
    "on_failure_callback": (),
    "on_retry_callback": (),
    "on_skipped_callback": (),
    "trigger_rule": TriggerRule.ALL_SUCCESS,
    "map_index_template": None,
    "max_active_tis_per_dag": None,
    "max_active_tis_per_dagrun": None,
    "executor": None,
    "executor_config": None,
    "do_xcom_push": True,
    "multiple_outputs": False,
    "doc": None,
    "doc_md": None,
    "doc_json": None,
    "doc_yaml": None,
    "doc_rst": None,
    "task_display_name": None,
    "logger_name": None,
    "allow_nested_operators": True,
    "render_template_as_native_obj": None,
    "isolation": None,
    "inlets": (),
    "outlets": (),
}
"""Attribute by attribute: what an operator has where nothing is said."""

PLACING: Final = frozenset({"task_id", "dag", "task_group", "default_args", "params"})
"""Arguments that place a task rather than set an attribute; default_args do not reach them."""

NAMES: Final = frozenset(DEFAULTS) | PLACING | {"pre_execute", "post_execute"}
"""Every argument of ``BaseOperator``."""


def seconds_or_delta(value: Any) -> timedelta | None:
    """Return a span of time given as ``timedelta`` or seconds.

    Raises:
        ValueError: it is neither, negative or not finite.
    """
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        value = timedelta(seconds=value)
    if not isinstance(value, timedelta) or value < timedelta(0):
        raise ValueError("a timedelta or a number of seconds, not negative")
    return value


def count(least: int) -> Callable[[Any], int]:
    """Return the converter of an integer that is at least ``least``."""

    def convert(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"a whole number, {least} or more")
        return value

    return convert


def optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``convert`` with None let through."""
    return lambda value: None if value is None else convert(value)


def text(value: Any) -> str:
    """Return a name that is not empty, free of NUL and at most 250 characters long."""
    if not isinstance(value, str) or not value or "\0" in value or len(value) > 250:
        raise ValueError("a text of 1 to 250 characters without NUL")
    return value


def callbacks(value: Any) -> tuple[Callback, ...]:
    """Return one callable, a list of them or None as a tuple."""
    found = tuple(value) if isinstance(value, (list, tuple)) else () if value is None else (value,)
    if not all(callable(one) for one in found):
        raise ValueError("a function of one argument (the context), or a list of them")
    return found


def backoff(value: Any) -> float:
    """Return the multiplier of each further delay; True means 2."""
    if isinstance(value, bool):
        return 2.0 if value else 0.0
    if not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError("True, False or a multiplier, not negative")
    return float(value)


def retry_policy(value: Any) -> Any:
    """Return a retry policy: anything that can evaluate."""
    if not callable(getattr(value, "evaluate", None)) or isinstance(value, type):
        raise ValueError("a RetryPolicy, such as ExceptionRetryPolicy(rules=[RetryRule(...)])")
    return value


def member(kind: type[StrEnum]) -> Callable[[Any], Any]:
    """Return the converter of a member of ``kind``, given as such or as its value."""

    def convert(value: Any) -> Any:
        known = [str(one) for one in kind]
        if value not in known:
            raise ValueError(f"one of {', '.join(known)}{did_you_mean(str(value), known)}")
        return kind(value)

    return convert


def isolation(value: Any) -> str | None:
    """Return ``process``, ``shared`` or None."""
    if value not in (None, "process", "shared"):
        raise ValueError("'process' or 'shared'")
    return value  # type: ignore[no-any-return]


def assets(expected: str, *kinds: str) -> Callable[[Any], tuple[Any, ...]]:
    """Return the converter of one asset or several, where their key's kind is one of ``kinds``."""

    def convert(value: Any) -> tuple[Any, ...]:
        found = tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else () if value is None else (value,)
        # By their keys: the module of assets is loaded by files that use them.
        if not all(getattr(one, "key", ("",))[0] in kinds for one in found):
            raise ValueError(expected)
        return found

    return convert


CONVERTERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "owner": text,
    "retries": lambda value: count(0)(0 if value is None else value),
    "retry_delay": seconds_or_delta,
    "retry_exponential_backoff": backoff,
    "max_retry_delay": seconds_or_delta,
    "retry_policy": optional(retry_policy),
    "execution_timeout": seconds_or_delta,
    "start_date": moment_of,
    "end_date": moment_of,
    "trigger_rule": member(TriggerRule),
    "weight_rule": weight_rule,
    "priority_weight": lambda value: max(-(2**31), min(2**31 - 1, count(-(2**63))(value))),
    "queue": text,
    "pool": text,
    "pool_slots": count(1),
    "max_active_tis_per_dag": optional(count(1)),
    "max_active_tis_per_dagrun": optional(count(1)),
    "executor": optional(text),
    "executor_config": lambda value: dict(value or {}),
    "on_execute_callback": callbacks,
    "on_success_callback": callbacks,
    "on_failure_callback": callbacks,
    "on_retry_callback": callbacks,
    "on_skipped_callback": callbacks,
    "isolation": isolation,
    "inlets": assets("a list of Asset(...), Asset.ref(...) or AssetAlias(...)", "asset", "uri", "alias"),
    "outlets": assets("a list of Asset(...), Asset.ref(...) or AssetAlias(...)", "asset", "uri", "alias"),
}
"""Argument to the function that makes its value uniform, or raises ValueError with what was expected."""


def uniform(converters: Mapping[str, Callable[[Any], Any]], name: str, value: Any, owner: object, site: Site) -> Any:
    """Return the argument ``name`` of a DAG or task in its uniform form.

    Raises:
        InvalidArgumentError: its converter refuses the value; names ``owner`` and the place of its definition.
    """
    convert = converters.get(name)
    if convert is None:
        return value
    try:
        return convert(value)
    except ValueError as reason:
        raise InvalidArgumentError(repr(owner), name, value, str(reason), site=site) from None
