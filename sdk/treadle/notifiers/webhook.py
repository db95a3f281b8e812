"""A notifier that posts JSON to an address, as chat services and incident tools take it.

No library is needed. An answer other than 2xx (a redirection, too), or none within the time limit, is an error of the
callback: it is in its log and changes no state.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from treadle.connections import Connection
from treadle.notifiers.base import BaseNotifier

TEXT: Final = (
    "{{ dag.dag_id }}: "
    "{% if deadline is defined %}run {{ run_id }} missed its deadline {{ deadline.deadline_time }}"
    "{% elif reason is defined %}run {{ run_id }} is {{ dag_run.state }}: {{ reason }}"
    "{% else %}task {{ ti.task_id }} of run {{ run_id }} is {{ ti.state }}{% endif %}"
)


class _Refused(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: it would make a GET without the payload of the POST, and take the token elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        """Leave the answer as the error that it is then."""


class WebhookNotifier(BaseNotifier):
    """Post ``payload`` as JSON to ``url``, or to where the connection ``http_conn_id`` points.

    ``payload`` is rendered, through lists and dicts; if it is not given, it is ``{"text": ...}`` with one sentence. A
    connection's password goes along as a bearer token, and never to another host than its own.

    Raises:
        ValueError: there is neither an address nor a connection, or the address is no http(s) URL.
    """

    template_fields = ("url", "payload", "headers")

    def __init__(
        self,
        *,
        url: str | None = None,
        http_conn_id: str | None = None,
        payload: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(context=context)
        if (url is None) == (http_conn_id is None):
            raise ValueError("WebhookNotifier: give url= or http_conn_id=, one of the two")
        self.url = url
        self.http_conn_id = http_conn_id
        self.payload = {"text": TEXT} if payload is None else payload
        self.headers = dict(headers or {})
        self.timeout = timeout

    def notify(self, context: Mapping[str, Any]) -> None:  # noqa: ARG002 - all is in the rendered fields
        """Post the payload."""
        url, headers = self._target()
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"WebhookNotifier: {urlsplit(url).scheme or 'no scheme'}: expected an http(s) address")
        body = json.dumps(self.payload, default=str).encode()
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"} | headers, method="POST")
        with urllib.request.build_opener(_Refused).open(request, timeout=self.timeout) as answer:
            self.log.info("The webhook answered %s", answer.status)

    def _target(self) -> tuple[str, dict[str, str]]:
        if self.http_conn_id is None:
            return self.url or "", dict(self.headers)
        found = Connection.get(self.http_conn_id)
        host = found.host or ""
        if "://" not in host:
            scheme = found.schema or ("http" if found.conn_type == "http" and not found.password else "https")
            host = f"{scheme}://{host}" + (f":{found.port}" if found.port else "")
        token = {"Authorization": f"Bearer {found.password}"} if found.password else {}
        return host + str(found.extra_dejson.get("path", "")), token | self.headers
