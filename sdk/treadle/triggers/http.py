"""A trigger that asks an HTTP endpoint again and again. Needs the package httpx (the extra ``triggers``)."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any, Final

from treadle.errors import LibraryMissingError
from treadle.http_calls import address, authorization_of
from treadle.triggers import asking
from treadle.triggers.base import BaseTrigger, TriggerEvent
from treadle.triggers.polling import pause, seconds_of

MOST_CHARACTERS: Final = 64 * 1024
"""What an event carries of an answer's text."""

_BAD: Final = 400


class HttpTrigger(BaseTrigger):
    """Waits until ``endpoint`` answers with a status below 400, and, if given, a text that contains ``expected_text``.

    The endpoint is a whole address, or a path on the host of the connection ``http_conn_id``, whose log-in is sent
    along. A status of ``not_yet`` (default: 404), and nobody answering, mean that it is asked again after
    ``poke_interval`` seconds; any other is a failure. The event: ``status``, ``headers`` and ``text``.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        http_conn_id: str | None = None,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        data: Any = None,
        expected_text: str | None = None,
        not_yet: Collection[int | str] = (404,),
        poke_interval: float = 30.0,
        http_timeout: float = 30.0,
    ) -> None:
        self.arguments: dict[str, Any] = {
            "endpoint": endpoint,
            "http_conn_id": http_conn_id,
            "method": method,
            "headers": dict(headers or {}),
            "data": data,
            "expected_text": expected_text,
            "not_yet": sorted(int(code) for code in not_yet),
            "poke_interval": seconds_of(poke_interval),
            "http_timeout": seconds_of(http_timeout),
        }
        self._client: Any = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        return "treadle.triggers.http.HttpTrigger", self.arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Ask until the answer is good.

        Raises:
            LibraryMissingError: httpx is not installed where the triggerer runs.
            RuntimeError: the answer says that asking again is of no use.
        """
        httpx = _httpx()
        self._client = httpx.AsyncClient(timeout=self.arguments["http_timeout"], follow_redirects=False)
        while True:
            try:
                answer = await self._ask()
            except httpx.TransportError as error:
                self.log.info("nobody answers yet: %s: %s", type(error).__name__, error)
            else:
                if self._is_good(answer):
                    text = answer.text[:MOST_CHARACTERS]
                    yield TriggerEvent({"status": answer.status_code, "headers": dict(answer.headers), "text": text})
                    return
            await pause(self.arguments["poke_interval"])

    async def _ask(self) -> Any:
        given = self.arguments
        named = None if given["http_conn_id"] is None else await asking.connection(given["http_conn_id"])
        headers = dict(given["headers"])
        log_in = None if named is None else authorization_of(named)
        if log_in and not any(name.lower() == "authorization" for name in headers):
            headers["Authorization"] = log_in
        method, data = str(given["method"]).upper(), given["data"]
        sent = "params" if isinstance(data, Mapping) and method in ("GET", "HEAD", "DELETE") else "data"
        if isinstance(data, (str, bytes)):
            sent = "content"
        return await self._client.request(
            method, address(named, given["endpoint"]), headers=headers, **({} if data is None else {sent: data})
        )

    def _is_good(self, answer: Any) -> bool:
        if answer.status_code in self.arguments["not_yet"]:
            return False
        if answer.status_code >= _BAD:
            raise RuntimeError(f"{self.arguments['endpoint']!r:.200} answered {answer.status_code}: {answer.text:.500}")
        expected = self.arguments["expected_text"]
        return expected is None or expected in answer.text

    async def cleanup(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()


def _httpx() -> Any:
    try:
        return importlib.import_module("httpx")
    except ImportError as error:
        raise LibraryMissingError("httpx", "trigger that asks over HTTP") from error
