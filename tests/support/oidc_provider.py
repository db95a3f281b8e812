"""An identity provider on a socket: OpenID Connect with real HTTP, real keys and real signatures, for one person.

It checks what a provider must check (client, redirect address, PKCE, that a code is used once), and can be told to lie.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT_ID: Final = "treadle"
CLIENT_SECRET: Final = "the client's secret: for tests only"
_KEY: Final = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
_FOREIGN_KEY: Final = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})


@dataclass
class OidcProvider:
    """What the provider knows, and how it is to lie."""

    now: Callable[[], datetime]
    url: str = ""
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "17", "preferred_username": "ann", "groups": []})
    in_token: tuple[str, ...] = ("sub", "preferred_username", "groups")
    """What the ID token tells; the rest is told by the userinfo endpoint."""
    lies: dict[str, Any] = field(default_factory=dict)
    """Claims of the ID token that are not true."""
    forges: bool = False
    """Whether it signs with a key that it does not publish."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser is sent when the person has logged in."""
        assert asked["client_id"] == CLIENT_ID
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """Return what the token endpoint answers."""
        expected = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if not secrets.compare_digest(_decoded_basic(authorization), base64.b64decode(expected).decode()):
            return 401, {"error": "invalid_client"}
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(self.now().timestamp())
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked.get("nonce")}
        claims |= {name: value for name, value in self.person.items() if name in self.in_token}
        key = _FOREIGN_KEY if self.forges else _KEY
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims | self.lies, key)
        return 200, {"access_token": "an access token", "token_type": "Bearer", "expires_in": 60, "id_token": signed}

    def answer(self, path: str, authorization: str) -> dict[str, Any] | None:
        """Return what a plain GET is answered; None: it is not there, or not for whoever asks."""
        if path == "/userinfo" and authorization != "Bearer an access token":
            return None
        found: dict[str, dict[str, Any]] = {
            "/.well-known/openid-configuration": {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "userinfo_endpoint": f"{self.url}/userinfo",
                "jwks_uri": f"{self.url}/keys",
            },
            "/keys": dict(KeySet([_KEY]).as_dict(private=False)),
            "/userinfo": self.person,
        }
        return found.get(path)


@contextmanager
def oidc_provider(now: Callable[[], datetime]) -> Iterator[OidcProvider]:
    """Serve a provider until the block ends."""
    provider = OidcProvider(now)
    handler = type("Handler", (_Handler,), {"provider": provider})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    provider: OidcProvider

    def do_GET(self) -> None:
        """Answer the endpoints that are read."""
        parts = urlsplit(self.path)
        if parts.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.send_response(302)
            self.send_header("Location", self.provider.authorize(asked))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        found = self.provider.answer(parts.path, self.headers.get("Authorization", ""))
        self._send(404 if found is None else 200, found or {})

    def do_POST(self) -> None:
        """Answer the token endpoint."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self._send(*self.provider.token(form, self.headers.get("Authorization", "")))

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _send(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _decoded_basic(header: str) -> str:
    scheme, _, value = header.partition(" ")
    return base64.b64decode(value).decode() if scheme == "Basic" else ""
