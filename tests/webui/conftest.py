"""A server on the hand-made system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from revelio.settings import Settings
from tests.webui import made
from webui.app import create_app


def client_on(settings: Settings) -> TestClient:
    """A client on this machine that follows no redirects."""
    app = create_app(settings, recommender=made.stand_in(settings))
    return TestClient(app, follow_redirects=False, client=("127.0.0.1", 50_000))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server with two recorded incidents, shared by a module's tests."""
    settings = made.settings(
        tmp_path_factory.mktemp("server"),
        made.record(),
        made.record("shop-0002", "orders page is all fine now", ("elasticsearch",)),
    )
    with client_on(settings) as client:
        yield client


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[TestClient]:
    """A server whose model folder is damaged."""
    settings = made.settings(tmp_path, made.record())
    settings.model.mkdir()
    (settings.model / "manifest.json").write_text("{", encoding="utf-8")
    with TestClient(create_app(settings), follow_redirects=False) as client:
        yield client


@pytest.fixture
def answer_id(client: TestClient) -> str:
    """A fresh answer about the first recorded incident."""
    reply = client.post("/api/v1/recommendations", json={"report": made.REPORT, "incident": "shop-0001"})
    assert reply.status_code == 200, reply.text
    return str(reply.json()["id"])
