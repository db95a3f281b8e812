"""The page of the endpoints behind the web pages, from the same OpenAPI document as the REST API's."""

from __future__ import annotations

from typing import Final

from docs.pages import rest_api

PREFACE: Final = """\
# Endpoints of the web pages

What the pages of the UI ask for. These endpoints are internal: they change with the pages, without notice, and programs
use the [REST API](rest-api.md). They take the same tokens, show each account only what it may see, and answer from a
statement or two over indexes, so that no page slows with history.

- Lists are walked: `cursor` of the answer before, `limit` for the size of a page.
- A grid's run has its states in the order of the grid's rows; a group or mapped task has `counts` by state beside.
- `GET /ui/events` is a stream of server-sent events: [how pages stay live](../explanation/live.md).
"""


def page() -> str:
    """Return the page."""
    return "\n".join((PREFACE, *rest_api.sections(rest_api.openapi(), lambda tag: tag == rest_api.UI)))
