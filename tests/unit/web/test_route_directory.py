"""The directory of routes: it finds what asking every route in turn would find."""

from __future__ import annotations

import re

import pytest
from fastapi.routing import APIRoute
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.routing import Match
from starlette.types import Scope

from treadle_webserver.directory import Directory
from treadle_webserver.routes import ROUTERS

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
WORDS = sorted({word for route in ROUTES for word in route.path.split("/") if "{" not in word} | {"1", "x.y", "~"})


def _one_by_one(routes: list[APIRoute], scope: Scope) -> tuple[Match, Scope]:
    partial: tuple[Match, Scope] = (Match.NONE, {})
    for route in routes:
        found = route.matches(scope)
        if found[0] is Match.FULL:
            return found
        if partial[0] is Match.NONE:
            partial = found
    return partial


def _scope(path: str, method: str, root_path: str = "") -> Scope:
    return {"type": "http", "path": root_path + path, "root_path": root_path, "method": method, "headers": []}


def _same(routes: list[APIRoute], path: str, method: str, root_path: str = "") -> None:
    scope = _scope(path, method, root_path)
    assert Directory(routes).matches(scope) == _one_by_one(routes, scope), (method, path, root_path)


@pytest.fixture(scope="module")
def of_all() -> Directory:
    return Directory(ROUTES)


def test_every_route_is_found_by_its_own_path(of_all: Directory) -> None:
    for route in ROUTES:
        for method in {*(route.methods or ()), "PATCH"}:
            scope = _scope(re.sub(r"{[^}]+}", "1", route.path), method)
            assert of_all.matches(scope) == _one_by_one(ROUTES, scope), (method, route.path)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(WORDS), max_size=9), st.sampled_from(METHODS), st.sampled_from(("", "/treadle")))
def test_any_path_finds_what_asking_each_route_would_find(
    of_all: Directory, words: list[str], method: str, root_path: str
) -> None:
    scope = _scope("/" + "/".join(words), method, root_path)
    assert of_all.matches(scope) == _one_by_one(ROUTES, scope)


def test_the_first_of_several_routes_answers_and_the_first_with_the_path_tells_the_methods() -> None:
    def handler() -> None: ...

    def route(path: str, method: str = "GET") -> APIRoute:
        return APIRoute(path, handler, methods=[method])

    routes = [route("/a/{x}", "PUT"), route("/a/{x}"), route("/a/b"), route("/a/{rest:path}"), route("/{x}/b", "PATCH")]
    for path in ("/a/b", "/a/c", "/a/c/d/", "/a/", "/a", "/", "", "//", "/c/b"):
        for method in METHODS:
            _same(routes, path, method)
            _same(list(reversed(routes)), path, method, "/below")
