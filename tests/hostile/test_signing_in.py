"""What reaches the sign-in: odd cookies, odd providers of identities, guesses of passwords."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from revelio.store import Actor, Store
from tests.hostile import inputs
from tests.hostile.backends import framed, lying_backends
from tests.hostile.conftest import Serve
from tests.hostile.served import Served, canary
from tests.hostile.untrue import JSON

PASSWORD, CLIENT = canary("admin-password"), canary("client-secret")
PAGE = {"sec-fetch-site": "same-origin"}


class Provider:
    """Describes itself as ``says`` does; ``ISSUER`` there stands for its own address."""

    def __init__(self) -> None:
        self.says: bytes = b"{}"

    def __call__(self, connection: socket.socket, asked: bytes, stop: threading.Event) -> None:
        issuer = f"http://127.0.0.1:{connection.getsockname()[1]}".encode()
        connection.sendall(framed(self.says.replace(b"ISSUER", issuer)))


def descriptions() -> Iterator[bytes]:
    """What a provider might say of itself, all wrong."""
    good: dict[str, Any] = {
        "issuer": "ISSUER",
        "authorization_endpoint": "ISSUER/authorize",
        "token_endpoint": "ISSUER/token",
        "jwks_uri": "ISSUER/keys",
    }
    for name in good:
        yield json.dumps({k: v for k, v in good.items() if k != name}).encode()
        odd: object
        for odd in (None, 5, [], {}, "", "//", "http://[::1", "javascript:alert(1)", "x" * 50_000, "\x00\r\nX: y", "http://a b/"):
            yield json.dumps(good | {name: odd}).encode()
    for said in JSON.values():
        yield said(json.dumps(good).encode(), "")[:300_000]


pytestmark = pytest.mark.usefixtures("nothing_broke")


@pytest.fixture(scope="module")
def provider() -> Provider:
    """Says what a test wants."""
    return Provider()


@pytest.fixture(scope="module")
def server(serve: Serve, provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Asks who you are."""
    folder: Path = tmp_path_factory.mktemp("accounts")
    store = Store(f"sqlite:///{folder}/revelio.db")
    store.accounts.add("robin", "admin", PASSWORD, Actor("test"))
    store.close()
    with lying_backends({"provider": provider}) as ports:
        oidc = f'[oidc]\nissuer = "http://127.0.0.1:{ports["provider"]}"\nclient_id = "revelio"\nclient_secret = "{CLIENT}"\n'
        yield serve(f"accounts = true\nrate_limit = 0\n{oidc}", folder=folder, hidden=(PASSWORD, CLIENT))


def test_a_provider_that_describes_itself_oddly(server: Served, provider: Provider) -> None:
    for said in descriptions():
        provider.says = said
        server.send("GET", "/sign-in/provider", headers=PAGE)


def test_a_provider_whose_keys_and_tokens_are_odd(server: Served, provider: Provider) -> None:
    good = b'{"issuer": "ISSUER", "authorization_endpoint": "ISSUER/a", "token_endpoint": "ISSUER/t", "jwks_uri": "ISSUER/k"'
    for more in (
        b'"id_token": "a.b.c"',
        b'"id_token": 5',
        b'"id_token": null',
        b'"keys": 5',
        b'"error": {"a": 1}',
        b'"id_token": "' + b"x" * 9_000 + b'"',
    ):
        provider.says = good + b', "access_token": "a", "token_type": "Bearer", ' + more + b"}"
        begun = server.send("GET", "/sign-in/provider", headers=PAGE)
        if begun is None or begun.status_code != 303:
            continue
        cookie = begun.headers["set-cookie"].partition(";")[0]
        state = json.loads(bytes.fromhex(cookie.partition("=")[2]))["state"]
        server.send("GET", f"/sign-in/back?code=c&state={state}", headers={"cookie": cookie})


def test_cookies_of_every_kind(server: Served) -> None:
    for depth in (100, 900, 990, 1_500):
        for tree in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
            server.send("GET", "/sign-in/back?state=x&code=y", headers={"cookie": f"revelio-attempt={tree.encode().hex()}"})
    attempts = ('{"state": "x", "nonce": 1, "verifier": [], "onward": {}}', "[1, 2, 3, 4]", "1e999", '"x"', "null", "\x00")
    for attempt in attempts:
        for cookie in (attempt.encode().hex(), attempt.encode().hex()[:-1]):
            server.send("GET", "/sign-in/back?state=x&code=y", headers={"cookie": f"revelio-attempt={cookie}"})
    for headers in inputs.HEADERS:
        server.send("GET", "/account", headers=headers)


def test_nothing_is_answered_without_an_account(server: Served) -> None:
    for path in inputs.PATHS:
        for name in ("x", "9" * 22):
            reply = server.send("GET", path.format(*[name] * 3))
            open_to_all = path.startswith(("/static", "/sign-in"))
            assert reply is None or open_to_all or reply.status_code in (303, 401, 403, 404, 422), path


def test_guesses_are_slowed_down_whatever_address_they_claim(server: Served) -> None:
    statuses = set()
    for n in range(60):
        claimed = {"x-forwarded-for": f"203.0.113.{n}", **PAGE}
        reply = server.send("POST", "/sign-in", data={"name": "robin", "password": f"guess {n}"}, headers=claimed)
        statuses.add(reply.status_code if reply is not None else 0)
    assert 429 in statuses
