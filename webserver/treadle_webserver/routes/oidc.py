"""Login through an identity provider: to the provider, and back from it with a session in the browser."""

from __future__ import annotations

import hmac
import json
from datetime import datetime, timedelta
from typing import Annotated, Final

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import RedirectResponse

from treadle_metadata import audit
from treadle_metadata.crypto import CryptoError
from treadle_metadata.rights.credentials import open_session
from treadle_metadata.rights.identities import NotAdmittedError, admit
from treadle_webserver import browser
from treadle_webserver.identity_provider import LIFETIME, Flow, IdentityProvider, ProviderError, page_after
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf

router = APIRouter(prefix="/auth/oidc", tags=["Login"], route_class=RetriedRoute)

_COOKIE: Final = "treadle_oidc"
Following = Annotated[str, Query(alias="next", max_length=2000)]
Given = Annotated[str | None, Query(max_length=4000)]


@router.get("/login", status_code=302, response_class=RedirectResponse)
def begin_oidc_login(request: Request, service: ServiceOf, following: Following = "/") -> RedirectResponse:
    """Send the browser to the identity provider; ``next``: the page of ours to show afterwards."""
    provider = _provider(service)
    if not following.startswith("/") or following.startswith("//") or "\\" in following or not following.isprintable():
        raise HTTPException(422, "next must be a path of this server, such as /dags")
    now = service.now()
    try:
        address, flow = provider.begin(following, now=now)
    except ProviderError as error:
        raise HTTPException(502, str(error)) from error
    answer = RedirectResponse(address, 302)
    browser.set_cookie(
        answer,
        request,
        _COOKIE,
        service.crypto.encrypt(json.dumps(flow.plain())),
        seconds=int(LIFETIME.total_seconds()),
        public_url=service.settings.public_url,
    )
    return answer


@router.get("/callback", status_code=302, response_class=RedirectResponse)
def end_oidc_login(
    request: Request, service: ServiceOf, code: Given = None, state: Given = None, error: Given = None
) -> RedirectResponse:
    """Take the identity provider's answer, open a session in the browser, and show the page that was wanted."""
    provider, now = _provider(service), service.now()
    flow = _flow(request, service, state, now=now)
    if error is not None or code is None:
        raise HTTPException(401, f"the identity provider refused the login: {(error or 'it gave no code')[:100]}")
    try:
        person = provider.end(flow, code, now=now)
    except ProviderError as found:
        raise HTTPException(401, str(found)) from found
    lifetime = timedelta(seconds=service.login.session_seconds)
    try:
        with service.database.begin() as connection:
            account, is_new = admit(connection, person, provider.settings, now=now)
            secret = open_session(
                connection,
                account.username,
                lifetime=lifetime,
                in_browser=True,
                address=request.client.host if request.client else "",
                user_agent=request.headers.get("user-agent", ""),
                now=now,
            )
            detail = {"by": "oidc", "role": account.role, "is_new": is_new}
            audit.record(connection, actor=account.username, event="login", detail=detail, now=now)
    except NotAdmittedError as found:
        raise HTTPException(403, str(found)) from found
    public_url = service.settings.public_url
    answer = RedirectResponse(page_after(flow.following, public_url), 302)
    browser.delete_cookie(answer, request, _COOKIE, public_url=public_url)
    browser.set_cookie(
        answer, request, browser.COOKIE, secret, seconds=service.login.session_seconds, public_url=public_url
    )
    return answer


def _provider(service: Service) -> IdentityProvider:
    if service.provider is None:
        raise HTTPException(404, "this installation has no identity provider (setting login, key oidc)")
    return service.provider


def _flow(request: Request, service: Service, state: str | None, *, now: datetime) -> Flow:
    """Return the login that this browser has begun, if the answer is to that one and comes in time."""
    refusal = HTTPException(401, "this login was not begun in this browser, or is too long ago: begin again")
    try:
        text = service.crypto.decrypt(request.cookies.get(_COOKIE, ""), "a login that has begun")
        flow = Flow(**json.loads(text))
    except (CryptoError, ValueError, TypeError):
        raise refusal from None
    if not hmac.compare_digest(flow.state.encode(), (state or "").encode()):
        raise refusal
    if flow.is_over(now):
        raise refusal
    return flow
