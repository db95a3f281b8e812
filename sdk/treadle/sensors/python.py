"""Sensors that call a function: ``PythonSensor``, and ``@task.sensor``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from treadle.errors import InvalidArgumentError
from treadle.operators.python import call_function
from treadle.sensors.base import BaseSensor, PokeReturnValue


class PythonSensor(BaseSensor):
    """Waits until ``python_callable(*op_args, **op_kwargs)`` returns something true.

    The function is handed what it names of the context, as by ``PythonOperator``. A :class:`PokeReturnValue` that it
    returns carries the XCom of the task.
    """

    template_fields: Collection[str] = ("templates_dict", "op_args", "op_kwargs")

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
        if not callable(python_callable):
            raise InvalidArgumentError(repr(self), "python_callable", python_callable, "a function", site=self.site)
        self.python_callable = python_callable
        self.op_args: Any = list(op_args or ())
        self.op_kwargs: Any = dict(op_kwargs or {})
        self.templates_dict: Any = dict(templates_dict) if templates_dict else None

    def poke(self, context: Any) -> bool | PokeReturnValue:
        """Call the function."""
        known = context if self.templates_dict is None else {**context, "templates_dict": self.templates_dict}
        found = call_function(self.python_callable, self.op_args, self.op_kwargs, known)
        return found if isinstance(found, PokeReturnValue) else bool(found)


class DecoratedSensorOperator(PythonSensor):
    """``@task.sensor``."""

    custom_operator_name = "@task.sensor"
