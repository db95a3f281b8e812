"""Finds the route of a request by the words of its path, in place of asking every route in turn.

FastAPI tries the patterns of all routes one after another, and of an included router three times; with two hundred of
them that cost as much as a small answer. Called by ``app``. The order of the routes, and so which one answers, stays
as it is: the words only tell which routes need not be asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fastapi.routing import APIRoute
from starlette._utils import get_route_path
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

_ANY = ""
"""Stands for a parameter among the words of a path."""


class Directory(BaseRoute):
    """All routes of the application behind one look at the words of a path."""

    def __init__(self, routes: Sequence[APIRoute]) -> None:
        self.routes = tuple(routes)
        self._root = _Node()
        for place, route in enumerate(self.routes):
            self._root.add(route.path.split("/"), place)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return the first route that is meant, else the first that has the path and another method."""
        other: tuple[Match, Scope] = (Match.NONE, {})
        for place in sorted(self._root.places(get_route_path(scope).split("/"))):
            found = self.routes[place].matches(scope)
            if found[0] is Match.FULL:
                return found
            if found[0] is Match.PARTIAL and other[0] is Match.NONE:
                other = found
        return other

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the route that was found answer."""
        await scope["route"].handle(scope, receive, send)


class _Node:
    """Where the paths that begin with the same words part."""

    def __init__(self) -> None:
        self._ending: list[int] = []
        self._open: list[int] = []
        """Routes whose next parameter takes all that is left, slashes as well."""
        self._next: dict[str, _Node] = {}

    def add(self, words: Sequence[str], place: int) -> None:
        """Enter a route by the words that are left of its path."""
        if not words:
            self._ending.append(place)
        elif ":path}" in words[0]:
            self._open.append(place)
        else:
            word = _ANY if "{" in words[0] else words[0]
            self._next.setdefault(word, _Node()).add(words[1:], place)

    def places(self, words: Sequence[str], at: int = 0) -> Iterator[int]:
        """Yield the places of all routes that may have these words, from the word ``at``."""
        yield from self._open
        if at == len(words):
            yield from self._ending
            return
        for word in {words[at], _ANY}:
            if word in self._next:
                yield from self._next[word].places(words, at + 1)
