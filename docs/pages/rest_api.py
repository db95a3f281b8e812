"""The page of the REST API, from the OpenAPI document of ``treadle_webserver`` and its table of permissions."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from docs.pages.markdown import code, prose, table

from treadle_metadata.accounts import Role
from treadle_metadata.connection import Database
from treadle_metadata.crypto import new_key
from treadle_metadata.settings import Settings
from treadle_webserver.app import create_app
from treadle_webserver.permissions import ROLES, TABLE, Permission

PREFACE: Final = """\
# REST API

The shapes follow Airflow's `/api/v2`. [Use the REST API](../howto/use-the-rest-api.md) shows the usual calls with curl.

- Requests and answers are JSON in UTF-8; moments are ISO 8601 in UTC. A body has at most 4 MiB.
- Every route but those marked *public* wants `Authorization: Bearer TOKEN`, with a token of `POST /auth/token`.
- An error is `application/problem+json` (RFC 9457): `detail` is a sentence; `what`, `which`, `expected` and `errors`
  say the same to programs where they can. The status is 400 (an order without an index, a body that is no JSON), 401
  (no valid token), 403 (the role may not), 404, 409 (conflicts with what is stored), 412 (`If-Match` names something
  older), 413 (too large), 422 (what was sent cannot be used), 429 (too many failed logins) or 503 (the database is
  away).
- What can be edited one by one is read with an `ETag`; its `PATCH` takes `If-Match`.
- Lists take `limit` (at most 1000) and either `offset`, or `cursor` for a walk of any length: begin with an empty
  `cursor` and go on with each answer's `next_cursor`. `total_entries` counts to 10,000 at most and is null in a walk.
- A bare date as a limit means the whole day in UTC: `run_after_lte=2026-03-31` includes what comes later that day.
- `~` as `dag_id` or `dag_run_id` means all of them, where a list allows it.
- Ids in paths need URL encoding: run ids hold `+` and `:`.

The OpenAPI document is at `GET /api/v2/openapi.json`, for anybody who is logged in.
"""
_ORDER: Final = ("get", "post", "put", "patch", "delete")


UI: Final = "UI"
"""The tag of the routes that serve the web pages: they have a page of their own."""


def page() -> str:
    """Return the page."""
    document = openapi()
    return "\n".join((PREFACE, _roles(), *sections(document, lambda tag: tag != UI)))


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document; the database that the application is given is never asked."""
    settings = Settings(fernet_key=new_key(), jwt_secret=secrets.token_urlsafe(48))
    database = Database("postgresql://nobody@127.0.0.1/nothing")
    try:
        return create_app(settings, database).openapi()
    finally:
        database.close()


def _roles() -> str:
    lines = [
        (permission.value, *("yes" if permission in ROLES[role] else "" for role in Role))
        for permission in Permission
        if permission is not Permission.PUBLIC
    ]
    return f"## Roles\n\n{table(('permission', *(role.value for role in Role)), lines)}\n"


def sections(document: Mapping[str, Any], wanted: Callable[[str], bool]) -> Iterator[str]:
    """Yield the sections of the routes whose tag is ``wanted``."""
    by_tag: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, item in document["paths"].items():
        for method in _ORDER:
            if method in item:
                by_tag.setdefault(item[method].get("tags", ["Other"])[0], []).append((method, path, item[method]))
    for tag, routes in by_tag.items():
        if not wanted(tag):
            continue
        yield f"## {tag}\n"
        for method, path, operation in routes:
            yield from _route(document, method.upper(), path, operation)


def _route(document: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {method} {path.replace(':path', '')}\n"
    permission = _permission(method, path)
    yield f"{prose(operation.get('description')) or operation['summary'] + '.'} Permission: *{permission}*.\n"
    parameters = [_parameter(document, one) for one in operation.get("parameters", ()) if one["in"] == "query"]
    if parameters:
        yield f"{table(('query', 'type', 'meaning'), parameters)}\n"
    fields = _body(document, operation)
    if fields:
        yield f"{table(('body', 'type', 'meaning'), fields)}\n"


def _permission(method: str, path: str) -> str:
    for (guarded_method, guarded), permission in TABLE.items():
        if guarded_method == method and guarded.replace(":path", "") == path.replace(":path", ""):
            return permission.value
    raise LookupError(f"{method} {path} is not in the table of permissions")


def _parameter(document: Mapping[str, Any], one: Mapping[str, Any]) -> tuple[str, str, str]:
    return code(one["name"]), _kind(document, one["schema"]), one.get("description") or _default(one["schema"])


def _body(document: Mapping[str, Any], operation: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return []
    schema = _resolved(document, content["schema"])
    required = schema.get("required", ())
    return [
        (
            code(name),
            _kind(document, one),
            one.get("description") or ("required" if name in required else _default(one)),
        )
        for name, one in schema.get("properties", {}).items()
    ]


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    if default in (None, [], ""):
        return ""
    listed = default if isinstance(default, list) else [default]
    return "default " + ", ".join(code(str(one).lower() if isinstance(one, bool) else one) for one in listed)


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Mapping[str, Any] = document["components"]["schemas"][reference.rsplit("/", 1)[-1]]
    return found


def _kind(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    schema = _resolved(document, schema)
    if "anyOf" in schema:
        kinds = dict.fromkeys(_kind(document, one) for one in schema["anyOf"] if one.get("type") != "null")
        return " or ".join(kinds)
    if "enum" in schema:
        return ", ".join(code(one) for one in schema["enum"])
    if "const" in schema:
        return code(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_kind(document, schema.get('items', {}))}"
    named = {"date-time": "moment", "date": "date"}.get(schema.get("format", ""))
    return named or str(schema.get("type", "any"))
