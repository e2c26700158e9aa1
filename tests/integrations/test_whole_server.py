"""The routes in the whole application, behind its guards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from revelio.settings import Settings
from tests.integrations.alerting import SOURCES, payload
from tests.webui.conftest import client_on

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture
def client(settings: Settings) -> Iterator[TestClient]:
    """The application on the hand-made system."""
    with client_on(settings) as client:
        yield client


@pytest.mark.parametrize("source", SOURCES)
def test_alert_gets_through_and_is_in_the_description_of_the_api(client: TestClient, source: str) -> None:
    reply = client.post(f"/api/v1/webhooks/{source}", json=payload(source))
    assert (reply.status_code, reply.json()["outcome"]) == (202, "opened")
    assert reply.headers["x-request-id"]
    assert f"/api/v1/webhooks/{source}" in client.get("/api/openapi.json").json()["paths"]


def test_assistant_gets_through(client: TestClient) -> None:
    reply = client.post("/mcp", json=HELLO, headers={"Accept": "application/json, text/event-stream"})
    assert reply.status_code == 200, reply.text
    assert reply.json()["result"]["serverInfo"]["name"] == "revelio"


def test_another_site_cannot_use_the_assistants_address(client: TestClient) -> None:
    assert client.post("/mcp", json=HELLO, headers={"Origin": "https://evil.example"}).status_code == 403


def test_slack_that_is_not_set_up_is_said_to_be_so(client: TestClient) -> None:
    assert client.post("/slack/events", json={}).status_code == 404


def test_nothing_is_streamed_to_an_assistant_that_only_listens(client: TestClient) -> None:
    assert client.get("/mcp", headers={"Accept": "text/event-stream"}).status_code == 405
