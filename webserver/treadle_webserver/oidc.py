"""OpenID Connect with an identity provider: where to send people, and whom the provider says it was (extra ``oidc``).

Called by ``routes.oidc``. The authorization code flow with PKCE: what only the browser that began the login may end it
with (state, nonce, verifier) travels in its own encrypted cookie, so nothing is stored and any web server can end what
another one began. Imported only where the setting ``login`` names a provider.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from treadle_metadata.login_settings import OidcSettings
from treadle_metadata.rights.identities import Person
from treadle_webserver.identity_provider import Flow, ProviderError

_KEPT: Final = timedelta(minutes=10)
_SECONDS: Final = 10
_LEEWAY_SECONDS: Final = 60
_ALGORITHMS: Final = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
"""Signatures by a key of the provider's alone; never ``none``, nor a secret that both sides know."""


class Provider:
    """One identity provider; safe to use from several threads."""

    def __init__(self, settings: OidcSettings, redirect_uri: str) -> None:
        self.settings = settings
        self._redirect_uri = redirect_uri
        self._lock = threading.Lock()
        self._metadata: tuple[datetime, Mapping[str, Any]] | None = None

    def begin(self, following: str, *, now: datetime) -> tuple[str, Flow]:
        """Return the provider's address for a new login, and what ends it.

        Raises:
            ProviderError: the provider does not answer.
        """
        flow = Flow(
            secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48), following, now.isoformat()
        )
        with self._session() as session:
            address, _ = session.create_authorization_url(
                self._endpoint("authorization_endpoint", now),
                state=flow.state,
                nonce=flow.nonce,
                code_verifier=flow.verifier,
            )
        return str(address), flow

    def end(self, flow: Flow, code: str, *, now: datetime) -> Person:
        """Return whom the provider says that the code is for.

        Raises:
            ProviderError: the provider refuses the code or does not answer, or its token is not for this login.
        """
        try:
            with self._session() as session:
                token = session.fetch_token(
                    self._endpoint("token_endpoint", now),
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=flow.verifier,
                    timeout=_SECONDS,
                )
            return self._person(self._claims(token, flow, now), str(token["access_token"]), now)
        except (AuthlibBaseError, JoseError, requests.RequestException, ValueError, KeyError) as error:
            raise ProviderError(f"the identity provider's answer cannot be used ({type(error).__name__})") from error

    def _claims(self, token: Mapping[str, Any], flow: Flow, now: datetime) -> Mapping[str, Any]:
        """Return what the ID token says, once its signature, issuer, audience, times and nonce are right."""
        keys = KeySet.import_key_set(self._get(self._endpoint("jwks_uri", now)))
        signed = jwt.decode(token["id_token"], keys, algorithms=_ALGORITHMS)
        wanted = {
            "iss": {"essential": True, "value": self.settings.issuer},
            "aud": {"essential": True, "value": self.settings.client_id},
        }
        parameters = {
            "nonce": flow.nonce,
            "client_id": self.settings.client_id,
            "access_token": token.get("access_token"),
        }
        claims = CodeIDToken(signed.claims, signed.header, wanted, parameters)
        claims.validate(now=int(now.timestamp()), leeway=_LEEWAY_SECONDS)
        return dict(claims)

    def _person(self, claims: Mapping[str, Any], access_token: str, now: datetime) -> Person:
        names = (self.settings.username_claim, self.settings.groups_claim)
        told = dict(claims)
        userinfo = self._metadata_of(now).get("userinfo_endpoint")
        if userinfo and not all(name in told for name in names):
            more = self._get(userinfo, {"Authorization": f"Bearer {access_token}"})
            if more.get("sub") != claims["sub"]:
                raise ProviderError("the identity provider told of another person than it signed for")
            told = more | told
        username = told.get(names[0])
        if not isinstance(username, str) or not username:
            raise ProviderError(f"the identity provider told no {names[0]}, which is to be the account's name")
        groups = told.get(names[1]) or []
        listed = [groups] if isinstance(groups, str) else groups
        return Person(f"{claims['iss']}|{claims['sub']}", username, tuple(str(one) for one in listed))

    def _session(self) -> OAuth2Session:
        return OAuth2Session(
            self.settings.client_id,
            self.settings.client_secret or None,
            scope=self.settings.scopes,
            redirect_uri=self._redirect_uri,
            code_challenge_method="S256",
            token_endpoint_auth_method="client_secret_basic" if self.settings.client_secret else "none",
        )

    def _endpoint(self, name: str, now: datetime) -> str:
        address = self._metadata_of(now).get(name)
        if not isinstance(address, str):
            raise ProviderError(f"the identity provider names no {name}")
        return address

    def _metadata_of(self, now: datetime) -> Mapping[str, Any]:
        """Return what the provider says of itself, asked again from time to time."""
        with self._lock:
            if self._metadata is None or self._metadata[0] <= now - _KEPT:
                found = self._get(f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration")
                if found.get("issuer") != self.settings.issuer:
                    raise ProviderError(
                        f"the identity provider calls itself {found.get('issuer')!r}, expected {self.settings.issuer!r}"
                    )
                self._metadata = (now, found)
            return self._metadata[1]

    def _get(self, address: str, headers: Mapping[str, str] | None = None) -> Any:
        try:
            answer = requests.get(address, headers=headers, timeout=_SECONDS)
            answer.raise_for_status()
            return answer.json()
        except (requests.RequestException, ValueError) as error:
            raise ProviderError(f"the identity provider does not answer ({type(error).__name__})") from error
