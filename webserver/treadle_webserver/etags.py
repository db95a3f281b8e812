"""``ETag`` and ``If-Match``: an edit that names what it saw is refused when somebody has changed it meanwhile.

Called by the routes that read and edit one thing. An edit locks its row before it compares, so of two edits that saw
the same thing one is refused with 412, and nothing is overwritten unseen.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

from fastapi import Header, HTTPException, Response

from treadle_metadata.errors import shown

IfMatch = Annotated[
    str | None, Header(max_length=1000, description="The `ETag` that was seen: refused with 412 when it is another now")
]
"""Parameter type of a handler that edits one thing."""


def etag(*facts: object) -> str:
    """Return the tag of what can be edited of a thing; any change of ``facts`` is another tag."""
    return f'"{hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:32]}"'


def tag(response: Response, *facts: object) -> None:
    """Give ``response`` the tag of ``facts``."""
    response.headers["etag"] = etag(*facts)


def require_match(if_match: str | None, what: str, which: str, *facts: object) -> None:
    """Check that ``if_match`` names ``facts``; nothing given, or ``*``, is fine with any.

    Raises:
        HTTPException: with 412; it is another one now.
    """
    if if_match is None:
        return
    wanted = [one.strip().removeprefix("W/") for one in if_match.split(",")]
    if "*" not in wanted and etag(*facts) not in wanted:
        raise HTTPException(
            412,
            f"{what} {shown(which)} has changed since it was read: read it again, and see if the edit still fits",
        )
