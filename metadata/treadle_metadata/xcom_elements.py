"""Single elements of stored XComs, without reading the value anew for each: ten thousand instances of a task that is
mapped over one list ask for one element each.

:mod:`treadle_metadata.xcom_answers` keeps an :class:`ElementCache` in the process that answers the questions of tasks.
It holds texts and positions, decodes nothing for good, and forgets what was not asked for lately; a process that dies
loses nothing but time.
"""

from __future__ import annotations

import json
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Final

_TUPLE: Final = '{"$type":"tuple","$value":['
_PAIRS: Final = '{"$type":"dict","$value":['
_scan = json.JSONDecoder().raw_decode


class Elements:
    """The elements of one value, as texts of typed JSON (``treadle.xcom``): of a dict its (key, value) pairs as tuples.

    Lists, tuples and dicts can be taken apart; anything else has no elements. The text must be as ``treadle.xcom``
    writes it, without white space between its parts.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = array("q")
        self._wrap = ("", "")
        if text.startswith("["):
            self._find(1)
        elif text.startswith(_TUPLE):
            self._find(len(_TUPLE))
        elif text.startswith(_PAIRS):
            self._wrap = (_TUPLE[:-1], "}")
            self._find(len(_PAIRS))
        elif text.startswith("{") and not text.startswith('{"$type":'):
            self._wrap = (_TUPLE, "]}")
            self._find(1)

    def _find(self, start: int) -> None:
        """Note where each element begins and ends."""
        self._ends.extend(position for element in _positions(self._text, start) for position in element)

    @property
    def size(self) -> int:
        """About how many bytes this takes."""
        return sys.getsizeof(self._text) + len(self._ends) * self._ends.itemsize

    def text(self, index: int) -> str | None:
        """Return the text of one element; None if there is none."""
        if not 0 <= 3 * index < len(self._ends):
            return None
        start, value, end = self._ends[3 * index : 3 * index + 3]
        head, tail = self._wrap
        # The key and the value of a pair in a plain dict stand beside each other, with a colon between.
        middle = self._text[start:end] if value == start else f"{self._text[start : value - 1]},{self._text[value:end]}"
        return f"{head}{middle}{tail}"


def _positions(text: str, start: int) -> Iterator[tuple[int, int, int]]:
    """Yield the positions of each element: its start, that of its value (behind the key of a dict), and its end."""
    while text[start] not in "]}":
        _, end = _scan(text, start)
        value = start
        if text[end] == ":":
            value = end + 1
            _, end = _scan(text, value)
        yield start, value, end
        start = end + 1 if text[end] == "," else end


class ElementCache:
    """The values that were taken apart lately, up to ``most_bytes`` together. Threads may share it."""

    def __init__(self, most_bytes: int = 64 * 1024 * 1024) -> None:
        self._most_bytes = most_bytes
        self._held: OrderedDict[Hashable, Elements] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, version: Hashable) -> Elements | None:
        """Return the elements of that version of a stored value, if they are held."""
        with self._lock:
            found = self._held.get(version)
            if found is not None:
                self._held.move_to_end(version)
            return found

    def put(self, version: Hashable, elements: Elements) -> None:
        """Hold the elements of a version; the ones not asked for longest make room. A single one is always held."""
        with self._lock:
            if version not in self._held:
                self._held[version] = elements
                self._bytes += elements.size
            while self._bytes > self._most_bytes and len(self._held) > 1:
                _, oldest = self._held.popitem(last=False)
                self._bytes -= oldest.size
