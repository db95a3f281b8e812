"""A sensor that asks a database."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection
from operator import itemgetter
from typing import Any, ClassVar, Final

from treadle.databases import Parameters, rows_of
from treadle.errors_of_waits import AnswerError
from treadle.sensors.base import BaseSensor
from treadle.sensors.deferred import Deferred
from treadle.templates import TemplateFile

_FIRST: Final = itemgetter(0)


class SqlSensor(Deferred, BaseSensor):
    """Waits until the first value of the first row of ``sql`` is true: not NULL, 0, an empty text or ``"0"``.

    ``selector`` takes another value out of the row. ``success`` decides in place of that rule, ``failure`` says which
    value fails the sensor. With ``fail_on_empty`` a query without rows does, too. ``parameters`` fill the driver's
    placeholders. With ``mode="deferrable"`` the triggerer asks, which knows the rule alone.

    Raises:
        InvalidArgumentError: something decides in place of the rule, and the mode is ``deferrable``.
    """

    can_defer: ClassVar[bool] = True

    template_fields: Collection[str] = ("sql", "parameters")

    def __init__(
        self,
        *,
        conn_id: str,
        sql: str | TemplateFile,
        parameters: Parameters = None,
        success: Callable[[Any], bool] | None = None,
        failure: Callable[[Any], bool] | None = None,
        selector: Callable[[tuple[Any, ...]], Any] = _FIRST,
        fail_on_empty: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.conn_id = conn_id
        self.sql: Any = sql
        self.parameters: Any = parameters
        self.success = success
        self.failure = failure
        self.selector = selector
        self.fail_on_empty = fail_on_empty
        self.refuse_deferral("success", success is not None)
        self.refuse_deferral("failure", failure is not None)
        self.refuse_deferral("selector", selector is not _FIRST)
        self.refuse_deferral("fail_on_empty", fail_on_empty)

    def poke(self, context: Any) -> bool:  # noqa: ARG002 - the contract of sensors
        """Ask.

        Raises:
            AnswerError: the value is one that fails the sensor, or there is no row and one is needed.
        """
        found = rows_of(self.conn_id, self.sql, self.parameters)
        if not found:
            if self.fail_on_empty:
                raise AnswerError("the query returned no row, and fail_on_empty is set")
            return False
        value = self.selector(found[0])
        self.log.info("The query returned %r", value)
        if self.failure is not None and self.failure(value):
            raise AnswerError(f"the query returned {value!r:.200}, which the sensor takes for a failure")
        return bool(self.success(value)) if self.success is not None else value not in (None, 0, "0", "")

    def trigger(self, context: Any) -> Any:  # noqa: ARG002 - the contract of sensors
        """Return the trigger that asks in the triggerer."""
        kind = importlib.import_module("treadle.triggers").SqlTrigger
        interval = self.poke_interval.total_seconds()
        return kind(self.conn_id, self.sql, parameters=self.parameters, poke_interval=interval)
