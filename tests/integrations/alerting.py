"""Payloads of the three sources, and a server that takes them."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import SecretStr

from revelio.service import Service
from revelio.settings import Settings
from revelio.settings.integrations import AlertSettings, SlackSettings
from webui.errors import add_handlers
from webui.webhooks.routes import webhooks

PAYLOADS = Path(__file__).parent / "payloads"
SOURCES = ("alertmanager", "grafana", "pagerduty")


def payload(source: str) -> dict[str, Any]:
    """A real payload of this source: something begins."""
    parsed: dict[str, Any] = json.loads((PAYLOADS / f"{source}.json").read_text(encoding="utf-8"))
    return parsed


def again(source: str, started: str) -> dict[str, Any]:
    """The same incident in another run, that began at ``started``."""
    changed = payload(source)
    if source == "pagerduty":
        changed["event"] |= {"event_type": "incident.reopened", "occurred_at": started, "id": "01OTHER"}
    for alert in changed.get("alerts", []):
        alert["startsAt"] = started
    return changed


def resolved(source: str) -> dict[str, Any]:
    """It ends."""
    changed = copy.deepcopy(payload(source))
    if source == "pagerduty":
        changed["event"] |= {"event_type": "incident.resolved", "id": "01RESOLVED"}
    else:
        changed["status"] = "resolved"
        for alert in changed["alerts"]:
            alert |= {"status": "resolved", "endsAt": "2026-09-21T10:20:00Z"}
    return changed


class Server:
    """The routes, and what a source would do with them."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def send(self, source: str, sent: dict[str, Any], **headers: str) -> dict[str, Any]:
        """Deliver, and read what it came to."""
        reply = self.client.post(f"/api/v1/webhooks/{source}", json=sent, headers=headers)
        assert reply.status_code == 202, reply.text
        parsed: dict[str, Any] = reply.json()
        return parsed

    def incidents(self) -> list[dict[str, Any]]:
        """All that were noted."""
        listed: list[dict[str, Any]] = self.client.get("/api/v1/webhooks/incidents").json()
        return listed

    def answered(
        self, incident: int, done: Callable[[dict[str, Any]], object] = lambda i: i["recommendation_id"]
    ) -> dict[str, Any]:
        """The incident once it is so; once it is answered when nothing else is asked."""
        deadline = time.monotonic() + 12
        while True:
            found: dict[str, Any] = self.client.get(f"/api/v1/webhooks/incidents/{incident}").json()
            if done(found):
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.02)


@contextmanager
def serving(
    settings: Settings, service: Service, slack: SlackSettings | None = None, *, client_at: str = "127.0.0.1", **alerts: str
) -> Iterator[Server]:
    """A server with these settings of alerts, asked from ``client_at``."""
    secrets = ("token", "password", "secret")
    given = AlertSettings(**{k: SecretStr(v) if k.rsplit("_", 1)[-1] in secrets else v for k, v in alerts.items()})
    app = FastAPI()
    add_handlers(app)
    changed = settings.model_copy(update={"alerts": given, "slack": slack or SlackSettings()})
    app.include_router(webhooks(changed, service))
    with TestClient(app, client=(client_at, 50_000)) as client:
        yield Server(client)
