"""The one shape of an answer that is an error: ``application/problem+json`` (RFC 9457), a sentence and its facts.

Made by ``errors`` for every exception and by ``limits`` for what never reaches a handler. ``detail`` is one sentence
for people, and what clients of Airflow's API read; ``what``, ``which`` and ``expected`` are the same for programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, NotRequired

from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

MEDIA_TYPE: Final = "application/problem+json"


class FieldErrorShape(TypedDict):
    """What is wrong with one parameter or field: where it stands, what was expected, the kind of the fault, and what
    was found there: of a body only what kind of value."""

    loc: list[int | str]
    msg: str
    type: str
    found: NotRequired[str]


class ProblemShape(TypedDict):
    """An error. ``which`` names the ``what`` that it is about; ``errors`` lists every fault of a request."""

    type: str
    title: str
    status: int
    detail: str
    what: NotRequired[str]
    which: NotRequired[str]
    found: NotRequired[str]
    expected: NotRequired[str]
    errors: NotRequired[list[FieldErrorShape]]


def problem(
    status: int,
    detail: str,
    *,
    what: str | None = None,
    which: str | None = None,
    found: str | None = None,
    expected: str | None = None,
    errors: Sequence[FieldErrorShape] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return an error as an answer; facts that are None are left out."""
    facts: dict[str, Any] = {"what": what, "which": which, "found": found, "expected": expected, "errors": errors}
    content = {"type": "about:blank", "title": _title(status), "status": status, "detail": detail}
    return JSONResponse(
        content | {name: value for name, value in facts.items() if value is not None},
        status,
        dict(headers or {}),
        MEDIA_TYPE,
    )


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
