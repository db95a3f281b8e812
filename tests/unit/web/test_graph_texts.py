"""The graphs of versions as they are sent: made once, kept within bounds, zipped for whoever takes that."""

from __future__ import annotations

import gzip
import json

from starlette.requests import Request

from treadle.document import DagDocument, TaskDocument
from treadle_metadata.queries.ui.structures import Structure, rows_of
from treadle_webserver.graph_texts import GraphTexts
from treadle_webserver.shapes.ui.structure import graph_shape


def _structure(version_id: int, tasks: int = 2) -> Structure:
    document = DagDocument(
        "d", tasks=tuple(TaskDocument(f"ä{n}", upstream=(f"ä{n - 1}",) if n else ()) for n in range(tasks))
    )
    return Structure(version_id, 1, document, rows_of(document), {one.task_id: one.upstream for one in document.tasks})


def _request(accepts: str) -> Request:
    return Request({"type": "http", "headers": [(b"accept-encoding", accepts.encode())]})


def test_a_graph_is_sent_whole_both_plain_and_zipped() -> None:
    structure = _structure(1, tasks=300)
    text = GraphTexts().of(structure)
    plain, zipped = text.answer(_request("identity")), text.answer(_request("gzip, br"))
    assert json.loads(bytes(plain.body)) == graph_shape(structure)
    assert zipped.headers["content-encoding"] == "gzip"
    assert gzip.decompress(bytes(zipped.body)) == plain.body
    assert len(zipped.body) * 5 < len(plain.body)


def test_a_graph_is_made_once_and_forgotten_when_others_need_the_room() -> None:
    room = len(GraphTexts().of(_structure(1)).plain)
    texts = GraphTexts(most_bytes=2 * room)
    first = texts.of(_structure(1))
    assert texts.of(_structure(1)) is first
    for version_id in (2, 3):
        texts.of(_structure(version_id))
    assert texts.of(_structure(1)) is not first
