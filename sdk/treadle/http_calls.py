"""HTTP calls of tasks, without a library: the address and the log-in come from a connection.

Called in a task's own process by operators and sensors that take ``http_conn_id``. A connection's host may be a whole
address; its ``schema`` is the scheme. A password without a login is sent as a bearer token, and no secret is taken
along by a redirection.
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from treadle.connections import Connection
from treadle.errors import ConnectionFormatError

MOST_BYTES: Final = 64 * 1024 * 1024
"""What is read of an answer."""


_SECRETS: Final = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key"})
"""Headers that a redirection does not take along: it may lead to another host."""


class _Redirected(urllib.request.HTTPRedirectHandler):
    """Follows redirections to http(s) addresses only."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the request that follows, or raise the answer as an error."""
        if not newurl.lower().startswith(("http://", "https://")):
            raise urllib.error.HTTPError(req.full_url, code, f"redirected to {newurl!r:.100}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer, of whatever status. The names are those that users of ``requests`` know."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes
    url: str

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", errors="replace")

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return self.status_code < 400

    def json(self) -> Any:
        """Return what the body says as JSON.

        Raises:
            ValueError: it is no JSON.
        """
        return json.loads(self.content)


def call(
    http_conn_id: str | None,
    endpoint: str,
    *,
    method: str = "GET",
    data: Any = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30.0,
) -> HttpAnswer:
    """Send a request and return the answer. ``data``: of a GET the query, else a form; bytes and text go as they are.

    Raises:
        ConnectionNotFoundError: there is no such connection.
        ConnectionFormatError: no http(s) address comes of the connection and the endpoint.
        OSError: nobody answers in time (``timeout`` seconds).
    """
    named = None if http_conn_id is None else Connection.get(http_conn_id)
    url = address(named, endpoint)
    body: bytes | None = None
    given = dict(headers or {})
    if isinstance(data, Mapping) and method.upper() in ("GET", "HEAD", "DELETE"):
        url += ("&" if "?" in url else "?") + urllib.parse.urlencode(data, doseq=True)
    elif isinstance(data, Mapping):
        body = urllib.parse.urlencode(data, doseq=True).encode()
    elif data is not None:
        body = data if isinstance(data, bytes) else str(data).encode()
    request = urllib.request.Request(url, body, method=method.upper())
    for name, value in given.items():
        add = request.add_unredirected_header if name.lower() in _SECRETS else request.add_header
        add(name, value)
    authorization = None if named is None else authorization_of(named)
    if authorization and not request.has_header("Authorization"):
        request.add_unredirected_header("Authorization", authorization)
    return _sent(request, timeout)


def address(named: Connection | None, endpoint: str) -> str:
    """Return the address that an endpoint has on the host of a connection; a whole address stays as it is.

    Raises:
        ConnectionFormatError: it is no http(s) address, or a whole one of another host than the connection's.
    """
    base = "" if named is None else _base(named)
    url = endpoint if "://" in endpoint else f"{base.rstrip('/')}/{endpoint.lstrip('/')}" if endpoint else base
    conn_id = "" if named is None else named.conn_id
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConnectionFormatError(conn_id=conn_id, reason=f"{url!r:.200} is no http(s) address")
    if named is not None and base and parts.netloc != urllib.parse.urlsplit(base).netloc:
        reason = f"endpoint {endpoint!r:.200} is on another host; its log-in is sent to {base} only"
        raise ConnectionFormatError(conn_id=conn_id, reason=reason)
    return url


def _base(named: Connection) -> str:
    host = named.host or ""
    if "://" not in host:
        host = f"{named.schema or ('https' if named.conn_type == 'https' else 'http')}://{host}"
        host += f":{named.port}" if named.port else ""
    return host


def authorization_of(named: Connection) -> str | None:
    """Return the log-in of a connection as a header's value, None if it has none."""
    if not named.password:
        return None
    if not named.login:
        return f"Bearer {named.password}"
    return "Basic " + base64.b64encode(f"{named.login}:{named.password}".encode()).decode()


def _sent(request: urllib.request.Request, timeout: float) -> HttpAnswer:
    try:
        answer = urllib.request.build_opener(_Redirected).open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return HttpAnswer(answer.status, dict(answer.headers.items()), answer.read(MOST_BYTES), answer.url)
