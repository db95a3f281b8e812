"""What DAG files import: ``from treadle import DAG, dag, task``.

Names are loaded on first use (PEP 562), so that ``import treadle`` costs nothing and a file pays only for what it
uses. Nothing third-party is imported until it is needed.
"""

from __future__ import annotations

import importlib

from treadle.version import __version__

# Type checkers take this name for true whoever defines it; importing it from typing would double the cost of us.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from treadle.asset_decorator import asset
    from treadle.asset_schedules import AssetOrTimeSchedule
    from treadle.asset_watchers import AssetWatcher
    from treadle.assets import Asset, AssetAlias, AssetAll, AssetAny, Dataset, Metadata
    from treadle.callbacks import AsyncCallback, SyncCallback
    from treadle.connections import Connection
    from treadle.dag_decorator import dag
    from treadle.dags import DAG
    from treadle.deadlines import DeadlineAlert, DeadlineReference
    from treadle.edges import Label, chain, chain_linear, cross_downstream
    from treadle.errors import (
        AwakeableTimedOut,
        DagError,
        FailTask,
        ParamError,
        RateLimitedError,
        SkipTask,
        StepError,
        StepPlanChangedError,
        TaskTimeout,
        TransientError,
        TreadleError,
    )
    from treadle.errors_of_waits import RescheduleTask, SensorTimeout
    from treadle.notifiers.base import BaseNotifier
    from treadle.notifiers.smtp import SmtpNotifier
    from treadle.notifiers.webhook import WebhookNotifier
    from treadle.operator_links import BaseOperatorLink
    from treadle.operators.base import BaseOperator
    from treadle.operators.bash import BashOperator
    from treadle.operators.branch import BaseBranchOperator, BranchPythonOperator, ShortCircuitOperator
    from treadle.operators.empty import EmptyOperator
    from treadle.operators.hitl import ApprovalOperator, HITLBranchOperator, HITLEntryOperator, HITLOperator
    from treadle.operators.http import HttpOperator
    from treadle.operators.latest_only import LatestOnlyOperator
    from treadle.operators.python import PythonOperator
    from treadle.operators.sql import SQLExecuteQueryOperator
    from treadle.params import DagParam, Param, ParamsDict
    from treadle.partition_schedules import CronPartitionTimetable, PartitionedAssetTimetable, PartitionedAtRuntime
    from treadle.partition_windows import (
        DayWindow,
        HourWindow,
        MonthWindow,
        QuarterWindow,
        SegmentWindow,
        WeekWindow,
        Window,
        YearWindow,
    )
    from treadle.partitions import (
        AllowedKeyMapper,
        ChainMapper,
        FanOutMapper,
        FixedKeyMapper,
        IdentityMapper,
        MinimumCount,
        PartitionMapper,
        ProductMapper,
        RollupMapper,
        StartOfDayMapper,
        StartOfHourMapper,
        StartOfMonthMapper,
        StartOfQuarterMapper,
        StartOfWeekMapper,
        StartOfYearMapper,
        WaitForAll,
    )
    from treadle.priority import PriorityWeightStrategy
    from treadle.retry_policies import ExceptionRetryPolicy, RetryAction, RetryDecision, RetryPolicy, RetryRule
    from treadle.rules import TriggerRule, WeightRule
    from treadle.runtime.context import Context, get_current_context
    from treadle.sensors.base import BaseSensor, BaseSensorOperator, PokeReturnValue
    from treadle.setup_teardown import setup, teardown
    from treadle.steps import step
    from treadle.task_groups import TaskGroup, task_group
    from treadle.tasks import task
    from treadle.templates import TemplateFile, literal
    from treadle.timetables.cron import (
        CronDataIntervalTimetable,
        CronTriggerTimetable,
        MultipleCronTriggerTimetable,
    )
    from treadle.timetables.delta import DeltaDataIntervalTimetable, DeltaTriggerTimetable
    from treadle.timetables.events import EventsTimetable
    from treadle.variable import Variable
    from treadle.xcom_arg import XComArg

__all__ = [
    "DAG",
    "AllowedKeyMapper",
    "ApprovalOperator",
    "Asset",
    "AssetAlias",
    "AssetAll",
    "AssetAny",
    "AssetOrTimeSchedule",
    "AssetWatcher",
    "AsyncCallback",
    "AwakeableTimedOut",
    "BaseBranchOperator",
    "BaseNotifier",
    "BaseOperator",
    "BaseOperatorLink",
    "BaseSensor",
    "BaseSensorOperator",
    "BashOperator",
    "BranchPythonOperator",
    "ChainMapper",
    "Connection",
    "Context",
    "CronDataIntervalTimetable",
    "CronPartitionTimetable",
    "CronTriggerTimetable",
    "DagError",
    "DagParam",
    "Dataset",
    "DayWindow",
    "DeadlineAlert",
    "DeadlineReference",
    "DeltaDataIntervalTimetable",
    "DeltaTriggerTimetable",
    "EmptyOperator",
    "EventsTimetable",
    "ExceptionRetryPolicy",
    "FailTask",
    "FanOutMapper",
    "FixedKeyMapper",
    "HITLBranchOperator",
    "HITLEntryOperator",
    "HITLOperator",
    "HourWindow",
    "HttpOperator",
    "IdentityMapper",
    "Label",
    "LatestOnlyOperator",
    "Metadata",
    "MinimumCount",
    "MonthWindow",
    "MultipleCronTriggerTimetable",
    "Param",
    "ParamError",
    "ParamsDict",
    "PartitionMapper",
    "PartitionedAssetTimetable",
    "PartitionedAtRuntime",
    "PokeReturnValue",
    "PriorityWeightStrategy",
    "ProductMapper",
    "PythonOperator",
    "QuarterWindow",
    "RateLimitedError",
    "RescheduleTask",
    "RetryAction",
    "RetryDecision",
    "RetryPolicy",
    "RetryRule",
    "RollupMapper",
    "SQLExecuteQueryOperator",
    "SegmentWindow",
    "SensorTimeout",
    "ShortCircuitOperator",
    "SkipTask",
    "SmtpNotifier",
    "StartOfDayMapper",
    "StartOfHourMapper",
    "StartOfMonthMapper",
    "StartOfQuarterMapper",
    "StartOfWeekMapper",
    "StartOfYearMapper",
    "StepError",
    "StepPlanChangedError",
    "SyncCallback",
    "TaskGroup",
    "TaskTimeout",
    "TemplateFile",
    "TransientError",
    "TreadleError",
    "TriggerRule",
    "Variable",
    "WaitForAll",
    "WebhookNotifier",
    "WeekWindow",
    "WeightRule",
    "Window",
    "XComArg",
    "YearWindow",
    "__version__",
    "asset",
    "chain",
    "chain_linear",
    "cross_downstream",
    "dag",
    "get_current_context",
    "literal",
    "setup",
    "step",
    "task",
    "task_group",
    "teardown",
]

_NAMES_BY_MODULE = {
    "asset_decorator": ("asset",),
    "asset_schedules": ("AssetOrTimeSchedule",),
    "asset_watchers": ("AssetWatcher",),
    "assets": ("Asset", "AssetAlias", "AssetAll", "AssetAny", "Dataset", "Metadata"),
    "connections": ("Connection",),
    "callbacks": ("AsyncCallback", "SyncCallback"),
    "deadlines": ("DeadlineAlert", "DeadlineReference"),
    "notifiers.base": ("BaseNotifier",),
    "notifiers.smtp": ("SmtpNotifier",),
    "notifiers.webhook": ("WebhookNotifier",),
    "retry_policies": ("ExceptionRetryPolicy", "RetryAction", "RetryDecision", "RetryPolicy", "RetryRule"),
    "dags": ("DAG",),
    "dag_decorator": ("dag",),
    "edges": ("Label", "chain", "chain_linear", "cross_downstream"),
    "errors": (
        "AwakeableTimedOut",
        "DagError",
        "FailTask",
        "ParamError",
        "RateLimitedError",
        "SkipTask",
        "StepError",
        "StepPlanChangedError",
        "TaskTimeout",
        "TransientError",
        "TreadleError",
    ),
    "errors_of_waits": ("RescheduleTask", "SensorTimeout"),
    "operator_links": ("BaseOperatorLink",),
    "operators.base": ("BaseOperator",),
    "operators.bash": ("BashOperator",),
    "operators.branch": ("BaseBranchOperator", "BranchPythonOperator", "ShortCircuitOperator"),
    "operators.empty": ("EmptyOperator",),
    "operators.hitl": ("ApprovalOperator", "HITLBranchOperator", "HITLEntryOperator", "HITLOperator"),
    "operators.latest_only": ("LatestOnlyOperator",),
    "operators.http": ("HttpOperator",),
    "operators.python": ("PythonOperator",),
    "operators.sql": ("SQLExecuteQueryOperator",),
    "priority": ("PriorityWeightStrategy",),
    "rules": ("TriggerRule", "WeightRule"),
    "params": ("DagParam", "Param", "ParamsDict"),
    "partition_schedules": ("CronPartitionTimetable", "PartitionedAssetTimetable", "PartitionedAtRuntime"),
    "partition_windows": (
        "DayWindow",
        "HourWindow",
        "MonthWindow",
        "QuarterWindow",
        "SegmentWindow",
        "WeekWindow",
        "Window",
        "YearWindow",
    ),
    "partitions": (
        "AllowedKeyMapper",
        "ChainMapper",
        "FanOutMapper",
        "FixedKeyMapper",
        "IdentityMapper",
        "MinimumCount",
        "PartitionMapper",
        "ProductMapper",
        "RollupMapper",
        "StartOfDayMapper",
        "StartOfHourMapper",
        "StartOfMonthMapper",
        "StartOfQuarterMapper",
        "StartOfWeekMapper",
        "StartOfYearMapper",
        "WaitForAll",
    ),
    "sensors.base": ("BaseSensor", "BaseSensorOperator", "PokeReturnValue"),
    "setup_teardown": ("setup", "teardown"),
    "runtime.context": ("Context", "get_current_context"),
    "steps": ("step",),
    "tasks": ("task",),
    "task_groups": ("TaskGroup", "task_group"),
    "templates": ("TemplateFile", "literal"),
    "timetables.cron": ("CronDataIntervalTimetable", "CronTriggerTimetable", "MultipleCronTriggerTimetable"),
    "timetables.delta": ("DeltaDataIntervalTimetable", "DeltaTriggerTimetable"),
    "timetables.events": ("EventsTimetable",),
    "variable": ("Variable",),
    "xcom_arg": ("XComArg",),
}
_HOMES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'treadle' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"treadle.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
