"""The two ways in which Slack reaches the bot: HTTP requests that it signs, and a socket that the bot opens."""

from __future__ import annotations

from collections.abc import Mapping

from slack_bolt import BoltRequest, BoltResponse
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk.signature import SignatureVerifier

from revelio.errors import InvalidInputError
from revelio.integrations.slack.bot import MALFORMED, Bot, not_from_slack


def over_http(bot: Bot, body: bytes, headers: Mapping[str, str]) -> BoltResponse:
    """Slack's request, acknowledged. 401 unless the signature is right and at most five minutes old."""
    secret = bot.settings.signing_secret.get_secret_value()
    stamp, signature = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
    # Before anything is parsed.
    if not secret.strip() or not stamp.isdecimal() or not _signed(secret, body, stamp, signature):
        return BoltResponse(status=401, body="The signature is not Slack's, or too old.")
    try:
        return bot.app.dispatch(BoltRequest(body=body.decode(), headers=dict(headers)))
    except MALFORMED as error:
        return not_from_slack(error)


def over_socket(bot: Bot) -> SocketModeHandler:
    """A handler whose ``connect`` opens the socket; ``InvalidInputError`` when no app token is set."""
    token = bot.settings.app_token.get_secret_value()
    if not token:
        raise InvalidInputError("no app-level token: set slack.app_token (it begins with xapp-); see `revelio docs slack`")
    return SocketModeHandler(bot.app, token)


def _signed(secret: str, body: bytes, stamp: str, signature: str) -> bool:
    try:
        return SignatureVerifier(secret).is_valid(body, stamp, signature)
    except ValueError:  # not text, or a figure too large for a time
        return False
