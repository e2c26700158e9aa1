"""Signing in through an identity provider: a small real one on loopback, with keys of its own."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from pydantic import SecretStr
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.settings import OidcSettings
from tests.webui.accounts.conftest import Server, serve, settings_with_accounts

KEY = RSAKey.generate_key(2048, auto_kid=True)
STRANGERS_KEY = RSAKey.generate_key(2048, auto_kid=True)


class IdentityProvider:
    """Checks what OpenID Connect makes it check, and says of whoever comes what ``claims`` says."""

    def __init__(self, server: HTTPServer) -> None:
        self.issuer = server.url_for("/realm")
        self.claims: dict[str, object] = {"sub": "u-1", "preferred_username": "kim"}
        self.key = KEY
        self.named = self.issuer
        self._asked: dict[str, str] = {}
        server.expect_request("/realm/.well-known/openid-configuration").respond_with_handler(self._describe)
        server.expect_request("/realm/keys").respond_with_json(KeySet([KEY]).as_dict(private=False))
        server.expect_request("/realm/token").respond_with_handler(self._token)

    def approve(self, address: str) -> str:
        """What the browser does there: the person says yes, and is sent back to the address that this gives."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.issuer}/authorize?")
        assert (asked["response_type"], asked["client_id"], asked["code_challenge_method"]) == ("code", "revelio", "S256")
        assert "openid" in asked["scope"].split()
        self._asked = asked
        return f"{asked['redirect_uri']}?code=c-1&state={asked['state']}"

    def _describe(self, _: Request) -> Response:
        import json

        described = {
            "issuer": self.named,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }
        return Response(json.dumps(described), content_type="application/json")

    def _token(self, request: Request) -> Response:
        import json

        digest = hashlib.sha256(request.form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        known = request.authorization is not None and request.authorization.password == "s3cret"
        if not known or request.form["code"] != "c-1" or challenge != self._asked["code_challenge"]:
            return Response('{"error": "invalid_grant"}', 400, content_type="application/json")
        base = {"iss": self.issuer, "aud": "revelio", "exp": int(time.time()) + 60, "nonce": self._asked["nonce"]}
        token = jwt.encode({"alg": "RS256", "kid": KEY.kid}, base | self.claims, self.key)
        reply = {"access_token": "a", "token_type": "Bearer", "id_token": token}
        return Response(json.dumps(reply), content_type="application/json")


@pytest.fixture
def provider(httpserver: HTTPServer) -> IdentityProvider:
    """A provider on loopback."""
    return IdentityProvider(httpserver)


@pytest.fixture
def federated(tmp_path: Path, provider: IdentityProvider) -> Iterator[Server]:
    """A server that trusts it."""
    oidc = OidcSettings(issuer=provider.issuer, client_id="revelio", client_secret=SecretStr("s3cret"), title="Our login")
    yield from serve(settings_with_accounts(tmp_path, oidc=oidc))


def go(server: Server, provider: IdentityProvider, onward: str = "") -> str:
    """To the provider; gives the address that it sends back to."""
    left = server.client.get(f"/sign-in/provider?next={onward}")
    assert left.status_code == 303, left.text
    return provider.approve(left.headers["location"])


def test_whoever_the_provider_vouches_for_is_let_in_as_a_viewer(federated: Server, provider: IdentityProvider) -> None:
    assert "Sign in with Our login" in federated.client.get("/sign-in").text
    back = federated.client.get(go(federated, provider, "/history"))
    assert (back.status_code, back.headers["location"]) == (303, "/history")
    assert federated.client.get("/account").status_code == 200
    assert federated.client.get("/people").status_code == 403
    user = federated.store.accounts.get("kim")
    assert (user.role, user.has_password) == ("viewer", False)
    assert federated.store.audit.list(1)[0].detail == "identity provider"


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"aud": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1_000_000_000},
        {"sub": None},
        {"preferred_username": "admin"},
    ],
)
def test_what_does_not_hold_lets_nobody_in(federated: Server, provider: IdentityProvider, claims: dict[str, object]) -> None:
    provider.claims |= claims
    back = federated.client.get(go(federated, provider))
    assert back.status_code == 403
    assert "Sign-in failed." in back.text
    assert federated.client.get("/account").status_code == 303
    assert len(federated.store.accounts.list()) == 3


def test_a_strangers_signature_lets_nobody_in(federated: Server, provider: IdentityProvider) -> None:
    provider.key = STRANGERS_KEY
    assert federated.client.get(go(federated, provider)).status_code == 403


def test_what_began_in_another_browser_does_not_end_in_this_one(federated: Server, provider: IdentityProvider) -> None:
    address = go(federated, provider)
    federated.client.cookies.clear()
    assert federated.client.get(address).status_code == 403
    address = go(federated, provider)
    assert federated.client.get(address.replace("state=", "state=x")).status_code == 403
    assert federated.client.get("/sign-in/back?error=access_denied").status_code == 403


def test_a_provider_that_is_down_or_another_one_is_said(federated: Server, provider: IdentityProvider) -> None:
    provider.named = "https://evil.example"
    page = federated.client.get("/sign-in/provider")
    assert (page.status_code, "oidc.issuer" in page.text) == (403, True)


def test_without_a_provider_there_is_no_such_way_in(server: Server) -> None:
    assert server.client.get("/sign-in/provider").status_code == 404
    assert server.client.get("/sign-in/back").status_code == 404 or server.client.get("/sign-in/back").status_code == 403
    assert "Sign in with" not in server.client.get("/sign-in").text


ODD = (
    "null",
    "[]",
    "5",
    "[" * 100_000,
    '{"issuer": "ISSUER"}',
    '{"issuer": "ISSUER", "authorization_endpoint": 5, "token_endpoint": [], "jwks_uri": {}}',
    '{"issuer": "ISSUER", "authorization_endpoint": "javascript:alert(1)", "token_endpoint": "http://a/", "jwks_uri": "http://a/"}',
    '{"issuer": "ISSUER", "authorization_endpoint": "http://[::1", "token_endpoint": "http:///", "jwks_uri": "//"}',
    '{"issuer": "ISSUER", "authorization_endpoint": "http://[::1", "token_endpoint": "http://a/", "jwks_uri": "http://a/"}',
    '{"issuer": {"a": 1}}',
    '{"issuer": "ISSUER", "more": "' + "x" * 1_100_000 + '"}',
)


@pytest.mark.parametrize("said", ODD, ids=range(len(ODD)))
def test_a_provider_that_describes_itself_oddly_is_refused(federated: Server, httpserver: HTTPServer, said: str) -> None:
    issuer = httpserver.url_for("/realm")
    httpserver.clear()
    httpserver.expect_request("/realm/.well-known/openid-configuration").respond_with_data(said.replace("ISSUER", issuer))
    left = federated.client.get("/sign-in/provider")
    assert left.status_code == 403
    assert "Our login" in left.text


@pytest.mark.parametrize(
    "kept", ["[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900, '{"state": 1, "nonce": 2, "verifier": [], "onward": {}}']
)
def test_a_cookie_that_this_server_did_not_set_is_refused(federated: Server, kept: str) -> None:
    back = federated.client.get("/sign-in/back?state=x&code=y", headers={"cookie": f"revelio-attempt={kept.encode().hex()}"})
    assert back.status_code == 403
    assert "Sign in again" in back.text
