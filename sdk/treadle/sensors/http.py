"""A sensor that asks an HTTP endpoint."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Final

from treadle.http_calls import HttpAnswer
from treadle.operators.http import CallsEndpoint, ask_of
from treadle.sensors.base import PokeReturnValue
from treadle.sensors.deferred import Deferred

NOT_YET: Final = ("404",)


class HttpSensor(CallsEndpoint, Deferred):
    """Waits until ``endpoint`` on the host of the connection ``http_conn_id`` answers well, and passes the check.

    A status in ``response_error_codes_allowlist`` (default: 404) means "not yet", any other from 400 on is a failure.
    ``response_check(response)`` returns whether it is time, or a :class:`PokeReturnValue`; it may take names of the
    context, too. ``request_params`` are the query of a GET and the body of a POST; ``http_timeout`` is in seconds. With
    ``mode="deferrable"`` the triggerer asks, which can call no ``response_check``.

    Raises:
        InvalidArgumentError: ``response_check`` is given, and the mode is ``deferrable``.
    """

    can_defer: ClassVar[bool] = True

    template_fields: Collection[str] = ("endpoint", "request_params", "headers")

    def __init__(
        self,
        *,
        endpoint: str,
        http_conn_id: str | None = "http_default",
        method: str = "GET",
        request_params: Mapping[str, Any] | str | None = None,
        headers: Mapping[str, str] | None = None,
        response_check: Callable[..., bool | PokeReturnValue] | None = None,
        response_error_codes_allowlist: Collection[str] | None = None,
        http_timeout: float = 30.0,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.endpoint = endpoint
        self.http_conn_id = http_conn_id
        self.method = method
        self.request_params: Any = request_params
        self.headers: Any = headers
        self.response_check = response_check
        codes = NOT_YET if response_error_codes_allowlist is None else response_error_codes_allowlist
        self.response_error_codes_allowlist = tuple(map(str, codes))
        self.http_timeout = http_timeout
        self.refuse_deferral("response_check", response_check is not None)

    def poke(self, context: Any) -> bool | PokeReturnValue:
        """Ask.

        Raises:
            AnswerError: the status says that asking again is of no use.
        """
        answer = self.called(self.request_params)
        if str(answer.status_code) in self.response_error_codes_allowlist:
            return False
        self.require_ok(answer)
        return self._checked(answer, context)

    def trigger(self, context: Any) -> Any:  # noqa: ARG002 - the contract of sensors
        """Return the trigger that asks in the triggerer."""
        kind = importlib.import_module("treadle.triggers").HttpTrigger
        return kind(
            self.endpoint,
            http_conn_id=self.http_conn_id,
            method=self.method,
            headers=self.headers,
            data=self.request_params,
            not_yet=self.response_error_codes_allowlist,
            poke_interval=self.poke_interval.total_seconds(),
            http_timeout=self.http_timeout,
        )

    def _checked(self, answer: HttpAnswer, context: Any) -> bool | PokeReturnValue:
        if self.response_check is None:
            return True
        found = ask_of(self.response_check, answer, context)
        return found if isinstance(found, PokeReturnValue) else bool(found)
