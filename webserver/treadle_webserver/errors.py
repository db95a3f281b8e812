"""How errors become answers: ``{"detail": ...}`` with what, which and what was expected; never a stack trace."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError, IntegrityError, OperationalError

from treadle_metadata.connection import is_passing
from treadle_metadata.errors import ConflictError, InvalidRequestError, LimitError, MetadataError, NotFoundError

_LOG = logging.getLogger(__name__)

_STATUS: dict[type[MetadataError], int] = {
    NotFoundError: 404,
    ConflictError: 409,
    InvalidRequestError: 422,
    LimitError: 422,
}
_SHOWN = 200
_UNIQUE_VIOLATION = "23505"


def install(app: FastAPI) -> None:
    """Give ``app`` its exception handlers."""
    app.add_exception_handler(MetadataError, _metadata_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(DataError, _unstorable)
    app.add_exception_handler(UnicodeError, _unstorable)
    app.add_exception_handler(IntegrityError, _conflict)
    app.add_exception_handler(OperationalError, _database_away)
    app.add_exception_handler(Exception, _unexpected)


def _answer(status: int, detail: Any, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers)


async def _metadata_error(_: Request, error: Exception) -> JSONResponse:
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return _answer(status, str(error))
    _LOG.error("request failed: %s", error)
    return _answer(500, str(error))


async def _validation_error(_: Request, error: Exception) -> JSONResponse:
    # Without the input: it may be a password, or 10 kB.
    found = error.errors() if isinstance(error, RequestValidationError) else []
    detail = [
        {
            "loc": [part if isinstance(part, int) else str(part)[:_SHOWN] for part in one["loc"]],
            "msg": str(one["msg"])[:_SHOWN],
            "type": one["type"],
        }
        for one in found
    ]
    return _answer(422, detail)


async def _unstorable(_: Request, error: Exception) -> JSONResponse:
    _LOG.info("refused a value that cannot be stored: %s", type(error).__name__)
    return _answer(
        422,
        "a value cannot be stored: it holds NUL or half of a surrogate pair, is a number out of range, or too large",
    )


async def _conflict(_: Request, error: Exception) -> JSONResponse:
    cause = getattr(error, "orig", None)
    constraint = getattr(getattr(cause, "diag", None), "constraint_name", None)
    unique = getattr(cause, "sqlstate", None) == _UNIQUE_VIOLATION
    reason = "Unique constraint violation" if unique else "Constraint violation"
    return _answer(409, {"reason": reason, "message": f"what is stored already conflicts with it: {constraint}"})


async def _database_away(request: Request, error: Exception) -> JSONResponse:
    if not is_passing(error):
        # Too large for an index, say: whoever tries it again for ever, as a worker does its reports, tries in vain.
        return await _unstorable(request, error)
    _LOG.warning("the database did not answer: %s", error)
    return _answer(503, "the metadata database does not answer; try again", {"Retry-After": "5"})


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _answer(500, "Internal Server Error")
