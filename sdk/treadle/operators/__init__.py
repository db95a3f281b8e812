"""Operators: what a task does. Each class stands in a module of its own, loaded when it is first named.

DAG files import them from ``treadle`` or from here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator
    from treadle.operators.bash import BashOperator
    from treadle.operators.branch import BaseBranchOperator, BranchPythonOperator, ShortCircuitOperator
    from treadle.operators.empty import EmptyOperator
    from treadle.operators.hitl import ApprovalOperator, HITLBranchOperator, HITLEntryOperator, HITLOperator
    from treadle.operators.http import HttpOperator
    from treadle.operators.latest_only import LatestOnlyOperator
    from treadle.operators.mapped import MappedOperator
    from treadle.operators.python import PythonOperator
    from treadle.operators.sql import SQLExecuteQueryOperator

__all__ = [
    "ApprovalOperator",
    "BaseBranchOperator",
    "BaseOperator",
    "BashOperator",
    "BranchPythonOperator",
    "EmptyOperator",
    "HITLBranchOperator",
    "HITLEntryOperator",
    "HITLOperator",
    "HttpOperator",
    "LatestOnlyOperator",
    "MappedOperator",
    "PythonOperator",
    "SQLExecuteQueryOperator",
    "ShortCircuitOperator",
]

_HOMES = {
    "ApprovalOperator": "hitl",
    "BaseBranchOperator": "branch",
    "BaseOperator": "base",
    "BashOperator": "bash",
    "BranchPythonOperator": "branch",
    "EmptyOperator": "empty",
    "HITLBranchOperator": "hitl",
    "HITLEntryOperator": "hitl",
    "HITLOperator": "hitl",
    "HttpOperator": "http",
    "LatestOnlyOperator": "latest_only",
    "MappedOperator": "mapped",
    "PythonOperator": "python",
    "SQLExecuteQueryOperator": "sql",
    "ShortCircuitOperator": "branch",
}


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): a file with one kind of task does not pay for the imports of all the others.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"treadle.operators.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
