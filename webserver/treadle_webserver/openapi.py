"""Completes the OpenAPI document that FastAPI makes of the routes: ids of operations, errors, and who may call.

Called by ``app.create_app``. The document is what the client of the web pages is made from and what schemathesis tests
against, so it says what is so: every status a route may answer with, and that errors have one shape (``problems``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from treadle_webserver.directory import Directory
from treadle_webserver.permissions import TABLE, Permission
from treadle_webserver.problems import MEDIA_TYPE, ProblemShape

_SCHEME: Final = "token"
_SCHEMES: Final = {
    _SCHEME: {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of `POST /auth/token`; of the Execution API and of awakeables, a token of their own.",
    }
}
_METHODS: Final = frozenset({"get", "post", "put", "patch", "delete"})

_ANYWHERE: Final = {
    400: "The order or the body cannot be read",
    413: "The body is too large",
    422: "What was sent cannot be used",
    500: "A fault of the server",
    503: "The database is away, or there is a crowd",
}
_WITH_LOGIN: Final = {401: "No valid token", 403: "The role may not"}
_OF_ONE: Final = {404: "There is no such thing"}
_OF_EDITS: Final = {
    404: "There is no such thing",
    409: "It conflicts with what is stored",
    412: "It has changed since (If-Match)",
    429: "Too many attempts",
}


def operation_id(route: APIRoute) -> str:
    """Return the name of the handler: what generated clients call the operation, as in Airflow's.

    The Execution API is Treadle's own and of several parts; its names say which.
    """
    path = route.path_format.removeprefix("/execution/")
    return route.name if path == route.path_format else f"execution_{re.sub(r'[^a-z0-9]+', '_', path.lower())}"


def complete(app: FastAPI) -> None:
    """Let ``app.openapi()`` return the completed document, made once."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(
                get_openapi(title=app.title, version=app.version, routes=[*_listed(app.routes)], description=__doc__)
            )
        return app.openapi_schema

    # FastAPI's own documented way to replace the document.
    app.openapi = document  # type: ignore[method-assign]


def _listed(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
    for route in routes:
        if isinstance(route, Directory):
            yield from route.routes
        else:
            yield route


RESPONSES: Final[dict[int | str, dict[str, Any]]] = {500: {"model": ProblemShape}}
"""Of every route, so that the shape of errors is among the document's components."""


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    document["info"]["description"] = "The REST API of Treadle, shaped as Airflow's `/api/v2`."
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SCHEMES
    for name in ("HTTPValidationError", "ValidationError"):
        components.get("schemas", {}).pop(name, None)
    guarded = {(method, path.replace(":path", "")): needed for (method, path), needed in TABLE.items()}
    for path, item in document["paths"].items():
        for method in _METHODS & set(item):
            needed = guarded.get((method.upper(), path.replace(":path", "")), Permission.PUBLIC)
            item[method]["responses"] = _responses(item[method]["responses"], method, path, needed)
            item[method]["security"] = [] if needed is Permission.PUBLIC else [{_SCHEME: []}]
    return document


def _responses(found: Mapping[str, Any], method: str, path: str, needed: Permission) -> dict[str, Any]:
    wanted = dict(_ANYWHERE)
    if needed is not Permission.PUBLIC or "token" in path:
        wanted |= _WITH_LOGIN
    if "{" in path:
        wanted |= _OF_ONE
    if method != "get":
        wanted |= _OF_EDITS
    errors = {str(status): _error(text) for status, text in sorted(wanted.items())}
    return {status: content for status, content in found.items() if status.startswith("2")} | errors


def _error(text: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemShape"}
    return {"description": text, "content": {MEDIA_TYPE: {"schema": schema}}}
