"""Lets a request pass over all routes of a resource at one look, if its path has other words than theirs.

FastAPI asks every route in turn, which with two hundred of them costs as much as a small answer. Called by ``app``; the
order of the routes, and so which one answers, stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope


class Branch(APIRouter):
    """A router's routes, behind the words that all their paths have in the same places."""

    def __init__(self, router: APIRouter) -> None:
        super().__init__()
        self.words = common_words(route.path for route in router.routes if isinstance(route, APIRoute))
        self.include_router(router)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether one of the routes is meant."""
        parts = scope["path"].removeprefix(scope.get("root_path", "")).split("/")
        for place, word in self.words:
            if place >= len(parts) or parts[place] != word:
                return Match.NONE, {}
        return super().matches(scope)


def common_words(paths: Iterable[str]) -> tuple[tuple[int, str], ...]:
    """Return (place, word) of the words that all these paths have, up to where they part; places count from 0."""
    split = [_words(path) for path in paths]
    if not split:
        return ()
    same = takewhile(lambda words: len(set(words)) == 1, zip(*split, strict=False))
    return tuple((place, words[0]) for place, words in enumerate(same) if words[0])


def _words(path: str) -> list[str]:
    """Return the parts of a path, "" for a parameter; one that may hold slashes ends it."""
    parts = takewhile(lambda part: ":path}" not in part, path.split("/"))
    return ["" if "{" in part else part for part in parts]
