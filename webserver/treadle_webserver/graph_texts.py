"""The graphs of versions as they are sent: JSON, plain and zipped, kept because a version never changes.

Asked by the route of the graph. To check and write out the graph of 12,000 tasks takes longer than anything else about
its page, so that is done once; a server that starts anew does it again. Bounded by bytes; safe to use from threads.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from fastapi import Request, Response

from treadle_metadata.queries.ui.structures import Structure
from treadle_webserver.shapes.ui.structure import graph_shape

_MOST_BYTES: Final = 32 * 1024 * 1024
_SMALLEST_ZIPPED: Final = 16 * 1024
_ZIP_LEVEL: Final = 4


@dataclass(frozen=True, slots=True)
class GraphText:
    """One graph; ``zipped`` is None where that is not worth it."""

    plain: bytes
    zipped: bytes | None

    def answer(self, request: Request) -> Response:
        """Return it in the form that the asker takes."""
        headers = {"vary": "accept-encoding"}
        if self.zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"
            return Response(self.zipped, media_type="application/json", headers=headers)
        return Response(self.plain, media_type="application/json", headers=headers)


class GraphTexts:
    """The texts that were asked for last, by version."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[int, GraphText] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def of(self, structure: Structure) -> GraphText:
        """Return the text of a version's graph, made if it is not kept."""
        with self._lock:
            if found := self._kept.get(structure.version_id):
                self._kept.move_to_end(structure.version_id)
                return found
        made = _made(structure)
        with self._lock:
            if structure.version_id not in self._kept:
                self._kept[structure.version_id] = made
                self._bytes += _size(made)
            while self._bytes > self._most_bytes:
                self._bytes -= _size(self._kept.popitem(last=False)[1])
        return made


def _made(structure: Structure) -> GraphText:
    plain = json.dumps(graph_shape(structure), ensure_ascii=False, separators=(",", ":")).encode()
    return GraphText(plain, gzip.compress(plain, _ZIP_LEVEL) if len(plain) >= _SMALLEST_ZIPPED else None)


def _size(text: GraphText) -> int:
    return len(text.plain) + len(text.zipped or b"")
