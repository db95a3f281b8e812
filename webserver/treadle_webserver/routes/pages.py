"""The web pages: the files that ``hatch_build.py`` built, and the one page that shows every address of theirs.

Called by browsers, without a login: the files are the same for everyone and hold no data. Which page is shown the
browser decides by the address; an address below a path of the API is answered as the API answers.
"""

from __future__ import annotations

import gzip
import html
import mimetypes
from functools import lru_cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, HTTPException, Request, Response
from starlette.routing import Match
from starlette.types import Scope

from treadle_webserver import browser
from treadle_webserver.routing import Route
from treadle_webserver.service import BareServiceOf

BUILT: Final = Path(__file__).resolve().parent.parent / "built_ui"
_NO_PAGES: Final = frozenset({"api", "auth", "execution", "ui"})
"""First words of addresses that belong to programs: what is missing below them is a 404 in JSON."""
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_SECURITY: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; worker-src 'self' blob:; "
    "frame-ancestors 'none'; base-uri 'self'; object-src 'none'"
)
"""Scripts come from us alone; the graph library sets styles on its elements."""
_BUNDLES: Final = "bundles"
"""The folder of what is named by a hash of its contents; vite.config.ts says so too."""
_SMALLEST_ZIPPED: Final = 1024


class PageRoute(Route):
    """Takes every address but those of programs, so that what they miss is told as if there were no pages."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match as any route, if the address may be a page's."""
        first = scope["path"].lstrip("/").partition("/")[0]
        return (Match.NONE, {}) if first in _NO_PAGES else super().matches(scope)


router = APIRouter(tags=["Pages"], include_in_schema=False, route_class=PageRoute)


class NotBuiltError(HTTPException):
    """This installation was made without web pages."""

    def __init__(self) -> None:
        super().__init__(404, "this installation has no web pages; `pip install` builds them. The API is at /api/v2")


@router.get("/{address:path}")
def get_page(request: Request, service: BareServiceOf, address: str) -> Response:
    """Return a built file by its path, else the page; 404 for what is no page's address."""
    first, _, rest = address.partition("/")
    if first == _BUNDLES or (not rest and "." in first):
        return _file(request, address)
    return _page(
        browser.base_path(service.settings.public_url),
        has_provider=service.login.oidc is not None,
        has_session=browser.COOKIE in request.cookies,
    )


def _page(base_path: str, *, has_provider: bool, has_session: bool) -> Response:
    found = _bytes_of("index.html")
    if found is None:
        raise NotBuiltError
    # What the pages must know before anybody is logged in.
    told = f'<base href="{html.escape(base_path)}"' + (' data-login="oidc"' if has_provider else "")
    if not has_session:
        # So that the page shows the login at once, without asking for an account only to be refused.
        told += ' data-session="none"'
    text = found[0].decode().replace('<base href="/"', told, 1)
    return Response(text, media_type="text/html", headers={"content-security-policy": _SECURITY})


def _file(request: Request, address: str) -> Response:
    found = _bytes_of(address)
    if found is None:
        raise HTTPException(404, "Not Found")
    plain, zipped = found
    media_type = mimetypes.guess_type(address)[0] or "application/octet-stream"
    # The names of bundles hold a hash of their contents, so a browser need not ask again.
    caching = _FOR_EVER if address.startswith(f"{_BUNDLES}/") else "public, max-age=3600"
    headers = {"cache-control": caching, "vary": "accept-encoding"}
    if zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(zipped, media_type=media_type, headers={**headers, "content-encoding": "gzip"})
    return Response(plain, media_type=media_type, headers=headers)


@lru_cache(maxsize=256)
def _read(path: Path, _: int) -> tuple[bytes, bytes | None]:
    plain = path.read_bytes()
    zipped = gzip.compress(plain, 6) if len(plain) >= _SMALLEST_ZIPPED else None
    return plain, zipped if zipped is not None and len(zipped) < len(plain) else None


def _bytes_of(address: str) -> tuple[bytes, bytes | None] | None:
    """Return a built file, plain and zipped; None for what is not there or lies outside."""
    path = (BUILT / address).resolve()
    if not path.is_relative_to(BUILT) or not path.is_file():
        return None
    return _read(path, path.stat().st_mtime_ns)
