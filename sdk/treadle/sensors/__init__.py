"""Sensors: tasks that wait until something is the case. Each class stands in a module that is loaded when it is named.

DAG files import them from here; ``@task.sensor`` makes one of a function.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.sensors.asset import AssetSensor
    from treadle.sensors.base import BaseSensor, BaseSensorOperator, PokeReturnValue, poke_mode_only
    from treadle.sensors.bash import BashSensor
    from treadle.sensors.external_task import ExternalTaskMarker, ExternalTaskSensor
    from treadle.sensors.file import FileSensor
    from treadle.sensors.http import HttpSensor
    from treadle.sensors.python import PythonSensor
    from treadle.sensors.sql import SqlSensor
    from treadle.sensors.time import DateTimeSensor, DayOfWeekSensor, TimeDeltaSensor, TimeSensor, WaitSensor, WeekDay

__all__ = [
    "AssetSensor",
    "BaseSensor",
    "BaseSensorOperator",
    "BashSensor",
    "DateTimeSensor",
    "DayOfWeekSensor",
    "ExternalTaskMarker",
    "ExternalTaskSensor",
    "FileSensor",
    "HttpSensor",
    "PokeReturnValue",
    "PythonSensor",
    "SqlSensor",
    "TimeDeltaSensor",
    "TimeSensor",
    "WaitSensor",
    "WeekDay",
    "poke_mode_only",
]

_NAMES_BY_MODULE = {
    "asset": ("AssetSensor",),
    "base": ("BaseSensor", "BaseSensorOperator", "PokeReturnValue", "poke_mode_only"),
    "bash": ("BashSensor",),
    "external_task": ("ExternalTaskMarker", "ExternalTaskSensor"),
    "file": ("FileSensor",),
    "http": ("HttpSensor",),
    "python": ("PythonSensor",),
    "sql": ("SqlSensor",),
    "time": ("DateTimeSensor", "DayOfWeekSensor", "TimeDeltaSensor", "TimeSensor", "WaitSensor", "WeekDay"),
}
_HOMES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): a file with one kind of sensor does not pay for the imports of all the others.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"treadle.sensors.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
