"""Routes that are passed over together: which words decide, and that nothing else than time is changed."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI
from starlette.routing import Match

from treadle_webserver.branches import Branch, common_words
from treadle_webserver.routes import ROUTERS


def test_the_words_are_those_that_all_paths_have_before_they_part() -> None:
    assert common_words(["/a/{x}/b", "/a/{y}/b/c", "/a/{z}/b/{u}"]) == ((1, "a"), (3, "b"))
    assert common_words(["/a/b", "/a/{x}"]) == ((1, "a"),)
    assert common_words(["/a/{x:path}/b", "/a/c/b"]) == ((1, "a"),)
    assert common_words(["/a", "/b"]) == ()
    assert common_words([]) == ()


def _matches(router: APIRouter, path: str, method: str = "GET", root_path: str = "") -> Match:
    app = FastAPI()
    app.include_router(router)
    scope = {"type": "http", "path": root_path + path, "root_path": root_path, "method": method, "headers": []}
    found = [route.matches(scope)[0] for route in app.router.routes[4:]]
    return max(found, key=lambda one: one.value)


def test_a_branch_matches_what_its_router_matches() -> None:
    router = APIRouter()
    router.add_api_route("/a/{x}/b", lambda: None)
    router.add_api_route("/a/{x}/b/{rest:path}", lambda: None)
    for path in ("/a/1/b", "/a/1/b/2/3", "/a/1/c", "/a/1", "/b/1/b", "/", "/a/1/b/"):
        for method in ("GET", "POST"):
            for root_path in ("", "/treadle"):
                expected = _matches(router, path, method, root_path)
                assert _matches(Branch(router), path, method, root_path) is expected, (path, method, root_path)


def test_the_branches_of_all_routers_have_words() -> None:
    without = [router for router in ROUTERS if not Branch(router).words]
    # What serves the pages takes any address.
    assert [[getattr(route, "path", "") for route in router.routes] for router in without] == [["/{address:path}"]]
