"""The bot over socket mode: the real SDK on a WebSocket of the fake Slack."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.sync.server import ServerConnection

from revelio.errors import InvalidInputError
from revelio.integrations.deliveries import Deliveries
from revelio.integrations.slack.bot import Bot
from revelio.integrations.slack.transport import over_socket
from revelio.service import Service
from tests.integrations.fake_slack import FakeSlack
from tests.integrations.slack_app import COMMAND, command, mention, press, slack_settings


@pytest.fixture
def bot(service: Service, slack: FakeSlack) -> Iterator[Bot]:
    """A bot that listens to nothing yet."""
    bot = Bot(slack_settings(slack), service, Deliveries(service.store.database))
    yield bot
    bot.close()


@pytest.fixture
def socket(bot: Bot, slack: FakeSlack) -> Iterator[ServerConnection]:
    """Slack's end of the bot's socket."""
    handler = over_socket(bot)
    handler.connect()  # type: ignore[no-untyped-call]
    yield slack.sockets.get(timeout=20)
    handler.close()  # type: ignore[no-untyped-call]


def send(socket: ServerConnection, slack: FakeSlack, kind: str, payload: dict[str, Any], envelope: str, **more: Any) -> None:
    """Deliver, and wait until it is acknowledged."""
    socket.send(json.dumps({"type": kind, "envelope_id": envelope, "payload": payload, "accepts_response_payload": True, **more}))
    assert slack.acknowledged.get(timeout=3)["envelope_id"] == envelope


def test_command_is_acknowledged_and_answered(socket: ServerConnection, slack: FakeSlack) -> None:
    send(socket, slack, "slash_commands", command(slack), "e1")
    answer = slack.answer()
    send(socket, slack, "interactive", press(slack, answer.button("Found it"), answer.ts), "e2")
    slack.wait(lambda: "✔ Found it" in answer.words)
    send(socket, slack, "interactive", press(slack, answer.button("Run"), answer.ts), "e3")
    slack.wait(lambda: "▶" in answer.words)
    assert [b["type"] for b in slack.messages[-1].blocks] == ["rich_text", "image"]


def test_what_is_delivered_again_is_answered_once(socket: ServerConnection, slack: FakeSlack) -> None:
    event = mention(f"<@U0BOT> {COMMAND}", event_id="Ev7")
    send(socket, slack, "events_api", event, "e1")
    send(socket, slack, "events_api", event, "e2", retry_attempt=1, retry_reason="timeout")
    again = command(slack)
    send(socket, slack, "slash_commands", again, "e3")
    send(socket, slack, "slash_commands", again, "e3")
    slack.answer(1)
    assert len(slack.messages) == 3


def test_missing_tokens_are_named(service: Service, slack: FakeSlack) -> None:
    deliveries = Deliveries(service.store.database)
    with pytest.raises(InvalidInputError, match=r"slack\.bot_token"):
        Bot(slack_settings(slack, bot_token=""), service, deliveries)
    bot = Bot(slack_settings(slack, app_token=""), service, deliveries)
    with pytest.raises(InvalidInputError, match=r"slack\.app_token"):
        over_socket(bot)
    bot.close()
