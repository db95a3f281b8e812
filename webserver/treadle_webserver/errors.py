"""How errors become answers (``problems``): with what, which and what was expected; never a stack trace."""

from __future__ import annotations

import logging
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from sqlalchemy.exc import DataError, IntegrityError, OperationalError
from starlette.exceptions import HTTPException

from treadle_metadata.connection import is_passing
from treadle_metadata.errors import (
    ConflictError,
    ForbiddenError,
    InvalidOrderError,
    InvalidRequestError,
    LimitError,
    LogStoreError,
    MetadataError,
    NotFoundError,
)
from treadle_webserver.faults import faults_of
from treadle_webserver.problems import FieldErrorShape, problem

_LOG = logging.getLogger(__name__)

# The first that fits counts, so a kind comes after those that it has made.
_STATUS: Final[dict[type[MetadataError], int]] = {
    InvalidOrderError: 400,
    ForbiddenError: 403,
    NotFoundError: 404,
    ConflictError: 409,
    InvalidRequestError: 422,
    LimitError: 422,
    LogStoreError: 503,
}
_SHOWN: Final = 200
_SENTENCE: Final = 1000
_UNIQUE_VIOLATION: Final = "23505"


def install(app: FastAPI) -> None:
    """Give ``app`` its exception handlers."""
    app.add_exception_handler(MetadataError, _metadata_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(DataError, _unstorable)
    app.add_exception_handler(UnicodeError, _unstorable)
    app.add_exception_handler(IntegrityError, _conflict)
    app.add_exception_handler(OperationalError, _database_away)
    app.add_exception_handler(Exception, _unexpected)


def status_of(error: MetadataError) -> int:
    """Return the status that an error of the metadata layer is answered with."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)


async def _metadata_error(_: Request, error: Exception) -> JSONResponse:
    status = status_of(error) if isinstance(error, MetadataError) else 500
    if status == 500:
        _LOG.error("request failed: %s", error)
    if isinstance(error, NotFoundError):
        return problem(status, str(error), what=error.what, which=str(error.name)[:_SHOWN])
    if isinstance(error, InvalidOrderError):
        return problem(status, str(error), what="order_by", which=error.name[:_SHOWN], expected=error.expected)
    return problem(status, str(error), errors=_faults_of(error))


def _faults_of(error: Exception) -> list[FieldErrorShape] | None:
    """Return the one fault of a request that the metadata layer found, where it lies in one field."""
    field = error.field if isinstance(error, MetadataError) else None
    return None if field is None else [{"loc": ["body", field], "msg": str(error)[:_SENTENCE], "type": "refused"}]


async def _http_error(_: Request, error: Exception) -> JSONResponse:
    if not isinstance(error, HTTPException):
        raise error
    return problem(error.status_code, str(error.detail), headers=error.headers)


async def _validation_error(request: Request, error: Exception) -> JSONResponse:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    faults = faults_of(found, _models_of(request.scope.get("route")))
    if not faults:
        return problem(422, "the request cannot be used")
    first = faults[0]
    others = len(faults) - 1
    more = f" (and {others} more {'fault' if others == 1 else 'faults'})" if others else ""
    return problem(
        422,
        f"{first.sentence}{more}",
        what=first.what,
        which=first.which,
        found=first.entry.get("found"),
        expected=first.entry["msg"],
        errors=[one.entry for one in faults],
    )


def _models_of(route: object) -> dict[str, Any]:
    """Return the models of a route's body and query, for the names that they know."""
    if not isinstance(route, APIRoute):
        return {}
    body = None if route.body_field is None else route.body_field.field_info.annotation
    query = [one.field_info.annotation for one in route.dependant.query_params]
    return {"body": body, "query": query[0] if len(query) == 1 else None}


async def _unstorable(_: Request, error: Exception) -> JSONResponse:
    _LOG.info("refused a value that cannot be stored: %s", type(error).__name__)
    return problem(
        422,
        "a value cannot be stored: it holds NUL or half of a surrogate pair, is a number out of range, or too large",
    )


async def _conflict(_: Request, error: Exception) -> JSONResponse:
    cause = getattr(error, "orig", None)
    constraint = getattr(getattr(cause, "diag", None), "constraint_name", None)
    unique = getattr(cause, "sqlstate", None) == _UNIQUE_VIOLATION
    what = "unique constraint" if unique else "constraint"
    return problem(
        409, f"what is stored already conflicts with it: {what} {constraint}", what=what, which=str(constraint)
    )


async def _database_away(request: Request, error: Exception) -> JSONResponse:
    if not is_passing(error):
        # Too large for an index, say: whoever tries it again for ever, as a worker does its reports, tries in vain.
        return await _unstorable(request, error)
    _LOG.warning("the database did not answer: %s", error)
    return problem(503, "the metadata database does not answer; try again", headers={"Retry-After": "5"})


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "Internal Server Error")
