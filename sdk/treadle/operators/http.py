"""A task that calls an HTTP endpoint."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from treadle.errors_of_waits import AnswerError
from treadle.http_calls import HttpAnswer, call
from treadle.operators.base import BaseOperator
from treadle.operators.python import keywords_for


class CallsEndpoint(BaseOperator):
    """What operators and sensors that call an endpoint have in common: the call, its line in the log, the refusal."""

    endpoint: str
    http_conn_id: str | None
    method: str
    headers: Any
    http_timeout: float

    def called(self, data: Any) -> HttpAnswer:
        """Call the endpoint, and log how it answered.

        Raises:
            OSError: nobody answers in time.
        """
        answer = call(
            self.http_conn_id,
            self.endpoint,
            method=self.method,
            data=data,
            headers=self.headers,
            timeout=self.http_timeout,
        )
        self.log.info("%s %s: %s", self.method, answer.url, answer.status_code)
        return answer

    def require_ok(self, answer: HttpAnswer) -> None:
        """Refuse an answer whose status is 400 or above.

        Raises:
            AnswerError: it is.
        """
        if not answer.ok:
            raise AnswerError(f"{self.method} {answer.url} was answered with {answer.status_code}: {answer.text:.200}")


def ask_of(function: Callable[..., Any], answer: HttpAnswer, context: Any) -> Any:
    """Return what a check or filter says of an answer; it may take names of the context, too."""
    return function(answer, **keywords_for(function, (answer,), {}, context))


class HttpOperator(CallsEndpoint):
    """Calls ``endpoint`` on the host of the connection ``http_conn_id``; the text of the answer is the task's XCom.

    ``data`` is the query of a GET and the body of other methods (a dict as a form; JSON as a text, with its header).
    ``response_filter(response)`` returns another XCom, ``response_check(response)`` whether the answer is good; both
    may take names of the context, too. A status from 400 on, or an answer that is not good, fails the attempt.
    ``http_timeout`` is in seconds.
    """

    template_fields: Collection[str] = ("endpoint", "data", "headers")

    def __init__(
        self,
        *,
        endpoint: str,
        http_conn_id: str | None = "http_default",
        method: str = "POST",
        data: Any = None,
        headers: Mapping[str, str] | None = None,
        response_check: Callable[..., bool] | None = None,
        response_filter: Callable[..., Any] | None = None,
        log_response: bool = False,
        http_timeout: float = 30.0,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.endpoint = endpoint
        self.http_conn_id = http_conn_id
        self.method = method
        self.data = data
        self.headers: Any = headers
        self.response_check = response_check
        self.response_filter = response_filter
        self.log_response = log_response
        self.http_timeout = http_timeout

    def execute(self, context: Any) -> Any:
        """Call it, and return the answer's text or what the filter makes of it.

        Raises:
            AnswerError: the status, or the check, says that the answer is not good.
            OSError: nobody answers in time.
        """
        answer = self.called(self.data)
        if self.log_response:
            self.log.info("%s", answer.text)
        self.require_ok(answer)
        if self.response_check is not None and not ask_of(self.response_check, answer, context):
            raise AnswerError(f"the answer of {self.method} {answer.url} does not pass its check: {answer.text:.200}")
        return answer.text if self.response_filter is None else ask_of(self.response_filter, answer, context)
