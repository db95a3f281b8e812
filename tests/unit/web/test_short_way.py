"""The short way through FastAPI: what it takes from a request, and what it answers, are FastAPI's own."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Annotated, Any
from urllib.parse import urlencode

import pytest
from fastapi import APIRouter, Body, Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi._compat import ModelField
from fastapi.dependencies.utils import request_params_to_args
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict
from starlette.datastructures import QueryParams
from starlette.types import Message
from tests.support.web import Client
from typing_extensions import TypedDict

from treadle_webserver import routing
from treadle_webserver.calling import AddressModel, NotInOrderError
from treadle_webserver.routes import ROUTERS
from treadle_webserver.threads import Threads

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, routing.Route)]
FIELDS = [field for route in ROUTES for field in route.dependant.query_params if AddressModel.is_all_of([field])]
NAMES = sorted({name for field in FIELDS for name in AddressModel(field).known})
TEXTS = ("", "1", "-1", "true", "2026-03-31", "2026-03-31T00:00:00Z", "success", "queued", "any", "x", "-dag_id", "50")


def test_nearly_every_route_that_waits_for_nothing_goes_the_short_way() -> None:
    long = [route for route in ROUTES if not route.waits and route.call is None]
    # What has no answer, and what FastAPI has no model of: files, streams and redirections.
    assert not [route.path for route in long if route.response_field is not None]
    assert len(long) < len(ROUTES) / 4
    assert len(FIELDS) > 20


@given(
    st.sampled_from(FIELDS),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(TEXTS)), max_size=4),
    st.sampled_from(("", "limit=5", "limit=5&limit=7", "order_by=a&order_by=b", "nonsense=1", "nonsense=1&nonsense=2")),
)
def test_an_address_is_read_as_fastapi_reads_it(field: ModelField, pairs: list[tuple[str, str]], more: str) -> None:
    known = AddressModel(field).known
    address = QueryParams("&".join(filter(None, [urlencode([one for one in pairs if one[0] in known]), more])))
    values, faults = request_params_to_args([field], address)
    try:
        found = AddressModel(field).read(address)
    except NotInOrderError:
        assert faults
    else:
        assert not faults
        assert found == values[field.name]
        assert found.model_fields_set == values[field.name].model_fields_set  # type: ignore[attr-defined]


class Shape(TypedDict):
    """An answer."""

    number: int
    name: str | None


class Asked(BaseModel):
    """What is asked for."""

    model_config = ConfigDict(extra="forbid")
    number: int
    names: list[str] = []


async def _tagged(response: Response, version: Annotated[int | None, Header(ge=1)] = None) -> int | None:
    response.headers["x-version"] = str(version)
    return version


def get_number(number: int, response: Response, version: Annotated[int | None, Depends(_tagged)]) -> Shape:
    """Answer with headers, and what no answer holds."""
    response.headers["etag"] = '"1"'
    response.set_cookie("a", "b")
    return {"number": number, "name": str(version), "more": 1}  # type: ignore[typeddict-unknown-key]


def get_asked(asked: Annotated[Asked, Query()], request: Request) -> Shape:
    """Answer what the address asks for."""
    return {"number": asked.number, "name": f"{asked.names} {request.url.path}"}


def get_status(status: int, response: Response) -> Shape:
    """Answer with a status."""
    response.status_code = status
    return {"number": status, "name": None}


def get_own(kind: str) -> Shape:
    """Answer with a response of one's own, or none that anybody could have meant."""
    if kind == "fault":
        raise HTTPException(409, "no")
    return Response(b"own", 202) if kind == "own" else {"number": "many"}  # type: ignore[return-value, typeddict-item]


def post_asked(number: int, asked: Asked, times: Annotated[int, Query(ge=1)] = 1) -> Shape:
    """Answer what the body asks for."""
    return {"number": number * times + asked.number, "name": None}


def put_parts(one: Annotated[int, Body()], other: Annotated[str | None, Body()] = None) -> Shape:
    """Answer what a body in two parts asks for."""
    return {"number": one, "name": other}


def delete_it() -> None:
    """Answer nothing."""


REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/numbers/7", {}),
    ("GET", "/numbers/7", {"headers": {"version": "3"}}),
    ("GET", "/numbers/7", {"headers": {"version": "0"}}),
    ("GET", "/numbers/x", {}),
    ("PUT", "/numbers/7", {}),
    ("GET", "/asked?number=1&names=a&names=b", {}),
    ("GET", "/asked?number=1&number=2&names=", {}),
    ("GET", "/asked?number=x&more=1", {}),
    ("GET", "/asked", {}),
    ("GET", "/status/203", {}),
    ("GET", "/status/204", {}),
    ("GET", "/own/own", {}),
    ("GET", "/own/fault", {}),
    ("POST", "/numbers/1?times=3", {"json": {"number": 4}}),
    ("POST", "/numbers/1?times=0", {"json": {"number": "x"}}),
    ("POST", "/numbers/1", {"json": {"number": 4, "more": 1}}),
    ("POST", "/numbers/1", {"content": b"{", "headers": {"content-type": "application/json"}}),
    ("POST", "/numbers/1", {"content": b'{"number": 1}', "headers": {"content-type": "application/x+json"}}),
    ("POST", "/numbers/1", {"content": b'{"number": 1}', "headers": {"content-type": "text/plain"}}),
    ("POST", "/numbers/1", {"content": b"[" * 9000, "headers": {"content-type": "application/json; charset=utf-8"}}),
    ("POST", "/numbers/1", {}),
    ("PUT", "/parts", {"json": {"one": 1, "other": "b"}}),
    ("PUT", "/parts", {"json": {"other": "b"}}),
    ("PUT", "/parts", {"json": [1]}),
    ("DELETE", "/it", {}),
]


def _app(route_class: type[APIRoute]) -> FastAPI:
    router = APIRouter(route_class=route_class)
    router.add_api_route("/numbers/{number}", get_number)
    router.add_api_route("/asked", get_asked)
    router.add_api_route("/status/{status}", get_status)
    router.add_api_route("/own/{kind}", get_own)
    router.add_api_route("/numbers/{number}", post_asked, methods=["POST"], status_code=201)
    router.add_api_route("/parts", put_parts, methods=["PUT"])
    router.add_api_route("/it", delete_it, methods=["DELETE"], status_code=204)
    app = FastAPI()
    app.router.routes += router.routes
    app.state.service = SimpleNamespace()
    app.state.threads = Threads(2)
    return app


def test_what_is_answered_is_what_fastapi_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "authorize", lambda *_: None)
    with asyncio.Runner() as runner:
        ours, theirs = Client(_app(routing.Route), runner), Client(_app(APIRoute), runner)
        for method, url, arguments in REQUESTS:
            found, expected = ours.request(method, url, **arguments), theirs.request(method, url, **arguments)
            assert (found.status_code, found.content) == (expected.status_code, expected.content), (method, url)
            assert sorted(found.headers.multi_items()) == sorted(expected.headers.multi_items()), (method, url)
        # An answer that is not of its shape is a fault of ours on either way.
        assert ours.get("/own/none").status_code == theirs.get("/own/none").status_code == 500


def test_a_body_that_breaks_off_is_the_clients_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "authorize", lambda *_: None)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/numbers/1", "query_string": b"", "headers": []}
    asyncio.run(_app(routing.Route)(scope, receive, send))
    assert sent[0]["status"] == 400


def test_a_dependency_that_waits_is_refused_however_deep_it_is() -> None:
    def waits() -> None: ...

    async def asks(_: None = Depends(waits)) -> None: ...

    for one in (waits, asks):
        with pytest.raises(TypeError, match="must be an async function that never waits"):
            routing.Route("/it", delete_it, dependencies=[Depends(one)])
