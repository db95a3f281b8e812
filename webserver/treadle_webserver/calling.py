"""Calls a handler with what a request holds, and makes its answer: the short way through what FastAPI does.

``routing`` takes it for every request that is in order, in the thread where all of the request runs; it is worked out
once for each route from what FastAPI has read of the handler's parameters. Whatever is not as expected, a parameter
that does not fit, a body that is no JSON, is left to FastAPI's own handling, which tells what is wrong: nothing has
happened by then. So both ways must agree on good requests only, and ``test_short_way`` compares them.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping
from typing import Any, Final, TypeVar

from fastapi import Request, Response
from fastapi._compat import ModelField, field_annotation_is_sequence
from fastapi.datastructures import DefaultPlaceholder
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_body_to_args, request_params_to_args
from fastapi.exceptions import ResponseValidationError
from fastapi.routing import APIRoute
from fastapi.utils import is_body_allowed_for_status_code
from pydantic import BaseModel
from starlette.datastructures import QueryParams

T = TypeVar("T")
Values = dict[str, Any]
_JSON: Final = "application/json"
_DROPPED: Final[tuple[str, ...]] = ("background_tasks_param_name", "security_scopes_param_name", "websocket_param_name")


class NotInOrderError(Exception):
    """Something about a request is not as expected: FastAPI's own handling tells what."""


class Call:
    """How the handler of one route is called and answered."""

    def __init__(self, route: APIRoute) -> None:
        self._endpoint = route.endpoint
        self._values = _Parameters(route.dependant)
        self._has_body = bool(route.dependant.body_params)
        self._embedded = route._embed_body_fields
        self._body_fields = route.dependant.body_params
        self._status = route.status_code
        assert route.response_field is not None
        self._answer = route.response_field

    @staticmethod
    def of(route: APIRoute) -> Call | None:
        """Return the call of a route; None where FastAPI does something that is not done here."""
        plain = isinstance(route.response_class, DefaultPlaceholder) and route.response_field is not None
        asks = (route.response_model_include, route.response_model_exclude, route.response_model_exclude_unset)
        more = (route.response_model_exclude_defaults, route.response_model_exclude_none)
        usual = plain and not any(asks) and not any(more) and route.response_model_by_alias
        return Call(route) if usual and _Parameters.can(route.dependant) else None

    def answer(self, request: Request, body: bytes) -> Response:
        """Return the answer to a request.

        Raises:
            NotInOrderError: a parameter or the body is not as expected; the handler has not been called.
        """
        given = _bare()
        values = self._values.of(request, given)
        if self._has_body:
            values |= self._of_body(request, body)
        found = self._endpoint(**values)
        return found if isinstance(found, Response) else self._made(found, given)

    def _of_body(self, request: Request, body: bytes) -> Values:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            raise NotInOrderError
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            raise NotInOrderError from None
        values, faults = result_of(request_body_to_args(self._body_fields, content, self._embedded))
        if faults:
            raise NotInOrderError
        return values

    def _made(self, found: object, given: Response) -> Response:
        value, faults = self._answer.validate(found, {}, loc=("response",))
        if faults:
            raise ResponseValidationError(errors=faults, body=found)
        status = given.status_code or self._status or 200
        content = self._answer.serialize_json(value, by_alias=True)
        made = Response(content, status, media_type=_JSON)
        if not is_body_allowed_for_status_code(status):
            made.body = b""
        made.raw_headers.extend(given.raw_headers)
        return made


class _Parameters:
    """What a function, a handler or one of its dependencies, takes from a request."""

    def __init__(self, of: Dependant) -> None:
        self._inner = [(one.name, one.call, _Parameters(one)) for one in of.dependencies if one.call is not None]
        self._path = of.path_params
        self._query = AddressModel(of.query_params[0]) if AddressModel.is_all_of(of.query_params) else None
        self._queries = [] if self._query else of.query_params
        self._headers = of.header_params
        self._cookies = of.cookie_params
        self._request = of.request_param_name or of.http_connection_param_name
        self._response = of.response_param_name

    @staticmethod
    def can(of: Dependant) -> bool:
        """Tell whether all that the function takes is known here."""
        return not any(getattr(of, one) for one in _DROPPED) and all(_Parameters.can(one) for one in of.dependencies)

    def of(self, request: Request, given: Response) -> Values:
        """Return the values; ``given`` is the answer in so far as the function itself makes it."""
        values: Values = {}
        for name, call, parameters in self._inner:
            found = result_of(call(**parameters.of(request, given)))
            if name is not None:
                values[name] = found
        if self._query:
            values[self._query.name] = self._query.read(request.query_params)
        values |= _read(self._path, request.path_params)
        if self._queries:
            values |= _read(self._queries, request.query_params)
        if self._headers:
            values |= _read(self._headers, request.headers)
        if self._cookies:
            values |= _read(self._cookies, request.cookies)
        if self._request:
            values[self._request] = request
        if self._response:
            values[self._response] = given
        return values


class AddressModel:
    """A model of all parameters of the address. FastAPI asks the address for each of thirty that it may have."""

    def __init__(self, field: ModelField) -> None:
        self.name = field.name
        self._field = field
        model = field.field_info.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        self._lists = frozenset(
            name for name, one in model.model_fields.items() if field_annotation_is_sequence(one.annotation)
        )
        self.known = frozenset(model.model_fields)

    @staticmethod
    def is_all_of(fields: list[ModelField]) -> bool:
        """Tell whether these are one model whose fields are named as the address names them."""
        model = fields[0].field_info.annotation if len(fields) == 1 else None
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            return False
        return not any(one.alias or one.validation_alias for one in model.model_fields.values())

    def read(self, address: QueryParams) -> object:
        """Return the model with what the address holds; of a parameter given twice the last counts."""
        found: dict[str, Any] = {}
        for name, value in address.multi_items():
            if name in self._lists:
                found.setdefault(name, []).append(value)
            elif name in self.known:
                found[name] = value
            else:
                raise NotInOrderError
        read, faults = self._field.validate(found, {}, loc=("query",))
        if faults:
            raise NotInOrderError
        return read


def _read(fields: list[ModelField], received: Mapping[str, Any]) -> Values:
    if not fields:
        return {}
    values, faults = request_params_to_args(fields, received)
    if faults:
        raise NotInOrderError
    return values


def _bare() -> Response:
    """Return what handlers that take a ``Response`` set headers and status of."""
    response = Response()
    response.raw_headers.clear()
    response.status_code = 0
    return response


def result_of(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing, and return what it returns."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} waits for something, in a thread where nothing can come")
