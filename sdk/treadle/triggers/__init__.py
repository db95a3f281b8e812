"""Triggers: what a deferred task waits for, without a worker. Each class stands in a module of its own.

A task hands one to ``self.defer(trigger=..., method_name=...)``; a triggerer runs thousands of them in one event loop.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.triggers.base import (
        BaseEventTrigger,
        BaseTaskEndEvent,
        BaseTrigger,
        TaskFailedEvent,
        TaskSkippedEvent,
        TaskSuccessEvent,
        TriggerEvent,
    )
    from treadle.triggers.deferral import StartTriggerArgs, TaskDeferralError, TaskDeferralTimeout, TaskDeferred
    from treadle.triggers.external import DagStateTrigger, WorkflowTrigger
    from treadle.triggers.file import FileDeleteTrigger, FileTrigger
    from treadle.triggers.http import HttpTrigger
    from treadle.triggers.messages import PostgresNotifyTrigger, RedisStreamTrigger
    from treadle.triggers.process import ProcessExitTrigger
    from treadle.triggers.sql import SqlTrigger
    from treadle.triggers.temporal import DateTimeTrigger, TimeDeltaTrigger

__all__ = [
    "BaseEventTrigger",
    "BaseTaskEndEvent",
    "BaseTrigger",
    "DagStateTrigger",
    "DateTimeTrigger",
    "FileDeleteTrigger",
    "FileTrigger",
    "HttpTrigger",
    "PostgresNotifyTrigger",
    "ProcessExitTrigger",
    "RedisStreamTrigger",
    "SqlTrigger",
    "StartTriggerArgs",
    "TaskDeferralError",
    "TaskDeferralTimeout",
    "TaskDeferred",
    "TaskFailedEvent",
    "TaskSkippedEvent",
    "TaskSuccessEvent",
    "TimeDeltaTrigger",
    "TriggerEvent",
    "WorkflowTrigger",
]

_NAMES_BY_MODULE = {
    "base": (
        "BaseEventTrigger",
        "BaseTaskEndEvent",
        "BaseTrigger",
        "TaskFailedEvent",
        "TaskSkippedEvent",
        "TaskSuccessEvent",
        "TriggerEvent",
    ),
    "deferral": ("StartTriggerArgs", "TaskDeferralError", "TaskDeferralTimeout", "TaskDeferred"),
    "external": ("DagStateTrigger", "WorkflowTrigger"),
    "file": ("FileDeleteTrigger", "FileTrigger"),
    "http": ("HttpTrigger",),
    "messages": ("PostgresNotifyTrigger", "RedisStreamTrigger"),
    "process": ("ProcessExitTrigger",),
    "sql": ("SqlTrigger",),
    "temporal": ("DateTimeTrigger", "TimeDeltaTrigger"),
}
_HOMES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): a file that waits for a time does not pay for the imports of the others.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"treadle.triggers.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
