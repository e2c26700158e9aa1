"""A server that asks who you are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from revelio.settings import Settings
from revelio.store import Actor, Role, Store
from revelio.store.accounts import ROLES
from tests.store.cheap import cheap_hashes
from tests.webui import made
from webui.app import create_app

PASSWORD = "correct horse battery"
PAGE = {"sec-fetch-site": "same-origin"}
"""What a browser says of a form that it sends to where the page came from."""


@pytest.fixture(scope="package", autouse=True)
def _cheap_hashes() -> Iterator[None]:
    with cheap_hashes():
        yield


@dataclass(frozen=True, slots=True)
class Server:
    """A running application with one user of each role, named after it, and a token for each."""

    client: TestClient
    store: Store
    tokens: dict[str, str]

    def as_program(self, role: str) -> dict[str, str]:
        """Headers of a program with a token of that role."""
        return {"authorization": f"Bearer {self.tokens[role]}"}

    def browser(self, role: str) -> TestClient:
        """A browser that has signed in."""
        browser = TestClient(self.client.app, follow_redirects=False)
        reply = browser.post("/sign-in", data={"name": role, "password": PASSWORD}, headers=PAGE)
        assert reply.status_code == 303, reply.text
        return browser


def settings_with_accounts(folder: Path, **changes: object) -> Settings:
    """Accounts are on and there is a user for each role."""
    settings = made.settings(folder, made.record()).model_copy(update={"accounts": True, "rate_limit": 0, **changes})
    store = Store(settings.database)
    for role in ROLES:
        store.accounts.add(role, role, PASSWORD, Actor("test"))
    store.close()
    return settings


def serve(settings: Settings) -> Iterator[Server]:
    """For the length of a test."""
    app = create_app(settings, recommender=made.stand_in(settings))
    with TestClient(app, follow_redirects=False) as client:
        store: Store = app.state.service.store
        roles: tuple[Role, ...] = ROLES
        tokens: dict[str, str] = {role: store.tokens.create(role, "test", role, Actor("test"))[1] for role in roles}
        yield Server(client, store, tokens)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Accounts are on."""
    yield from serve(settings_with_accounts(tmp_path))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Accounts are on; one server for a module's tests."""
    yield from serve(settings_with_accounts(tmp_path_factory.mktemp("accounts")))
