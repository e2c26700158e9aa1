"""The bot on the fake Slack, over HTTP and over a socket."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from pydantic import SecretStr

from revelio.service import Service
from revelio.settings import Settings
from revelio.settings.integrations import SlackSettings
from tests.integrations.fake_slack import CHANNEL, SECRET, USER, FakeSlack, form, signed
from webui.errors import add_handlers
from webui.webhooks.routes import webhooks

COMMAND = "incident:shop-0001 the basket hangs"


def slack_settings(slack: FakeSlack, **more: Any) -> SlackSettings:
    """Settings of a bot on this Slack."""
    given: dict[str, Any] = {
        "signing_secret": SECRET,
        "bot_token": "xoxb-one",
        "app_token": "xapp-1",
        "api_url": slack.url,
    } | more
    return SlackSettings(**{k: SecretStr(v) if k.endswith(("_token", "_secret")) else v for k, v in given.items()})


class Http:
    """Slack's side of the HTTP transport."""

    def __init__(self, client: TestClient, slack: FakeSlack) -> None:
        self.client, self.slack = client, slack

    def post(self, path: str, body: bytes, headers: Mapping[str, str] | None = None, *, kind: str = "form") -> Response:
        """A request with Slack's signature, or with other headers."""
        types = {"form": "application/x-www-form-urlencoded", "json": "application/json"}
        sent = {"Content-Type": types[kind], **(signed(body) if headers is None else headers)}
        return self.client.post(path, content=body, headers=sent)

    def command(self, text: str = COMMAND, **more: str) -> Response:
        """Somebody writes /revelio."""
        return self.post("/slack/commands", form(command(self.slack, text) | more))

    def mention(self, text: str, **more: Any) -> Response:
        """Somebody mentions the bot."""
        return self.post("/slack/events", json.dumps(mention(text, **more)).encode(), kind="json")

    def press(self, button: Mapping[str, Any], ts: str, **more: Any) -> Response:
        """Somebody presses a button of the message ``ts``."""
        return self.post("/slack/actions", form({"payload": json.dumps(press(self.slack, button, ts) | more)}))


@contextmanager
def over_http(settings: Settings, service: Service, slack: FakeSlack, **more: Any) -> Iterator[Http]:
    """The server's own routes."""
    app = FastAPI()
    app.state.demo = False
    add_handlers(app)
    app.include_router(webhooks(settings.model_copy(update={"slack": slack_settings(slack, **more)}), service))
    with TestClient(app) as client:
        yield Http(client, slack)


def command(slack: FakeSlack, text: str = COMMAND) -> dict[str, str]:
    """The payload of a slash command."""
    return {
        "command": "/revelio",
        "text": text,
        "team_id": "T1",
        "channel_id": CHANNEL,
        "user_id": USER,
        "trigger_id": uuid.uuid4().hex,
        "response_url": slack.response_url,
    }


def mention(text: str, *, event_id: str = "", ts: str = "1789999999.000100", **event: Any) -> dict[str, Any]:
    """The payload of a mention."""
    return {
        "type": "event_callback",
        "team_id": "T1",
        "event_id": event_id or f"Ev{uuid.uuid4().hex}",
        "authorizations": [{"team_id": "T1", "user_id": "U0BOT", "is_bot": True}],
        "event": {"type": "app_mention", "user": USER, "text": text, "channel": CHANNEL, "ts": ts, **event},
    }


def press(slack: FakeSlack, button: Mapping[str, Any], ts: str) -> dict[str, Any]:
    """The payload of a pressed button."""
    return {
        "type": "block_actions",
        "team": {"id": "T1"},
        "user": {"id": USER, "team_id": "T1"},
        "trigger_id": uuid.uuid4().hex,
        "response_url": slack.response_url,
        "container": {"type": "message", "channel_id": CHANNEL, "message_ts": ts, "thread_ts": "1789999999.000100"},
        "channel": {"id": CHANNEL},
        "actions": [{k: v for k, v in button.items() if k in ("action_id", "value", "type")} | {"block_id": "b"}],
    }


def shortcut(slack: FakeSlack, text: str) -> dict[str, Any]:
    """The payload of the message shortcut."""
    return {
        "type": "message_action",
        "callback_id": "revelio_ask",
        "team": {"id": "T1"},
        "user": {"id": USER, "team_id": "T1"},
        "channel": {"id": CHANNEL},
        "message": {"type": "message", "text": text, "ts": "1789999998.000200", "user": "U9"},
        "trigger_id": uuid.uuid4().hex,
        "response_url": slack.response_url,
    }
