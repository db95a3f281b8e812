"""Sensors that call a function: ``PythonSensor``, and ``@task.sensor``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.operators.python import CallsFunction
from treadle.sensors.base import BaseSensor, PokeReturnValue


class PythonSensor(CallsFunction, BaseSensor):
    """Waits until ``python_callable(*op_args, **op_kwargs)`` returns something true.

    The function is handed what it names of the context, as by ``PythonOperator``. A :class:`PokeReturnValue` that it
    returns carries the XCom of the task.
    """

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Sequence[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        templates_dict: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.take_function(python_callable, op_args, op_kwargs, templates_dict)

    def poke(self, context: Any) -> bool | PokeReturnValue:
        """Call the function."""
        found = self.call(context)
        return found if isinstance(found, PokeReturnValue) else bool(found)


class DecoratedSensorOperator(PythonSensor):
    """``@task.sensor``."""

    custom_operator_name = "@task.sensor"
