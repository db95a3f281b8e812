"""Sessions of browsers: the cookie that holds one, and the defence of writes that come with it.

The cookie is out of reach of scripts (HttpOnly), is not sent along by other sites' forms and frames (SameSite), stays
below the path that Treadle is served under, and travels by TLS alone wherever the server is reached by TLS. A write
that is authorized by it must carry the CSRF token as a header, which only a page of ours can know.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final
from urllib.parse import urlsplit

from fastapi import HTTPException, Request, Response

COOKIE: Final = "treadle_session"
CSRF_HEADER: Final = "X-CSRF-Token"
_HARMLESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PURPOSE: Final = b"treadle: CSRF token"


def csrf_token_of(secret: str) -> str:
    """Return the CSRF token of a session: made from its secret, which it does not tell."""
    return hmac.new(secret.encode(), _PURPOSE, hashlib.sha256).hexdigest()


def check_write(request: Request, secret: str) -> None:
    """Refuse a write with a session's cookie that no page of ours has sent.

    Raises:
        HTTPException: 403, the header is missing or wrong, or the browser says that another site asks.
    """
    if request.method in _HARMLESS:
        return
    if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
        raise HTTPException(403, "Forbidden: another site may not write with the session of this one")
    given = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(given.encode(), csrf_token_of(secret).encode()):
        raise HTTPException(
            403, f"Forbidden: the header {CSRF_HEADER} must hold the CSRF token of the session; GET /auth/me tells it"
        )


def base_path(public_url: str) -> str:
    """Return the path that Treadle is served under: what cookies are for, and what the pages' addresses begin with."""
    return f"{urlsplit(public_url).path.rstrip('/')}/"


def is_secure(request: Request, public_url: str) -> bool:
    """Tell whether people reach the server by TLS: as its public address says, else as the request came."""
    return (urlsplit(public_url).scheme or request.url.scheme) == "https"


def set_cookie(response: Response, request: Request, name: str, value: str, *, seconds: int, public_url: str) -> None:
    """Let the browser keep ``value`` for ``seconds``."""
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=base_path(public_url),
        secure=is_secure(request, public_url),
        httponly=True,
        samesite="lax",
    )


def delete_cookie(response: Response, request: Request, name: str, *, public_url: str) -> None:
    """Let the browser forget a cookie."""
    response.delete_cookie(
        name,
        path=base_path(public_url),
        secure=is_secure(request, public_url),
        httponly=True,
        samesite="lax",
    )
