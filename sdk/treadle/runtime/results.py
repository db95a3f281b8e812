"""What a task returned becomes XComs: its result, and the items of it where the task has ``multiple_outputs``.

Called by the task runtime when the task has returned, and before that where a transaction is to carry them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treadle.xcom import RETURN_KEY

if TYPE_CHECKING:
    from treadle.operators.base import BaseOperator
    from treadle.runtime.task_instance import TaskInstance


def push_result(ti: TaskInstance, task: BaseOperator, value: Any) -> None:
    """Push what ``task`` returned; pushing it twice is pushing it once.

    Raises:
        TypeError: it has ``multiple_outputs`` and returned something else than a dict with string keys.
        XComTypeError: the value cannot be carried; names the bad element.
        XComTooLargeError: it is larger than the installation allows.
    """
    if not task.do_xcom_push or value is None:
        return
    if task.multiple_outputs:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise TypeError(
                f"task {task.task_id!r} has multiple_outputs, so it must return a dict with string keys; "
                f"it returned {type(value).__name__}: {value!r:.200}"
            )
        for key, item in value.items():
            ti.xcom_push(key, item)
    ti.xcom_push(RETURN_KEY, value)
