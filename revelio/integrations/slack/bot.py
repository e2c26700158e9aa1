"""The bot itself: what Slack sends, acknowledged at once and handled once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from slack_bolt import Ack, App, BoltResponse, Respond
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import ConnectionErrorRetryHandler, RateLimitErrorRetryHandler

from revelio.errors import InvalidInputError, RevelioError
from revelio.integrations.deliveries import Deliveries
from revelio.integrations.slack.answering import Answering, thread_messages
from revelio.integrations.slack.asking import HELP, SlackQuestion, read, read_thread
from revelio.integrations.slack.blocks import Message, plain_message, read_button
from revelio.integrations.slack.destination import Destination, ForOne, InChannel
from revelio.integrations.slack.installations import Installations
from revelio.service import Service
from revelio.settings.integrations import SlackSettings
from revelio.store import SavedAnswer, Verdict

log = logging.getLogger(__name__)

_WORKERS = 8
_NOT_HERE = ("not_in_channel", "channel_not_found", "is_archived", "restricted_action")
_LOOKING = "Querying …"
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What a delivery of another shape raises, in Bolt and here: both assume the shape."""


class Bot:
    """One bot for all its workspaces. ``app`` takes what Slack sends, over HTTP or a socket."""

    def __init__(
        self,
        settings: SlackSettings,
        service: Service,
        deliveries: Deliveries,
        installed: Installations | None = None,
        *,
        max_chars: int = 20_000,
    ) -> None:
        """``installed`` are workspaces beside those of the settings. Connects to nothing.

        Raises ``InvalidInputError`` when there is no bot token, nor a way to come by one.
        """
        if not settings.bot_token.get_secret_value() and not settings.bot_tokens and installed is None:
            raise InvalidInputError(
                "no Slack token: set slack.bot_token, slack.bot_tokens by workspace, or slack.client_id and slack.client_secret; "
                "see `revelio docs slack`"
            )
        self._installed = installed
        self.settings = settings
        self._answering = Answering(service, settings)
        self._deliveries = deliveries
        self._max_chars = max_chars
        self._work = ThreadPoolExecutor(_WORKERS, thread_name_prefix="slack")
        self._acks = ThreadPoolExecutor(4 * _WORKERS, thread_name_prefix="slack-ack")

        def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult | None:
            # Asking Slack who we are would cost a call before each acknowledgement.
            token = self._token(team_id)
            return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=token) if token else None

        self.app = App(
            name="revelio",
            signing_secret=settings.signing_secret.get_secret_value(),
            client=self._client(),
            authorize=cast(Callable[..., AuthorizeResult], authorize),  # None is how it says no
            listener_executor=self._acks,
        )
        self._listen()

    def close(self) -> None:
        """Finish running work."""
        self._acks.shutdown(wait=True)
        self._work.shutdown(wait=True)

    def post(self, channel: str, title: str, saved: SavedAnswer) -> tuple[str, str]:
        """Start a thread with an unprompted answer; returns channel and thread.

        ``channel`` is ``C...``, or ``T.../C...`` with several workspaces. Raises ``SlackApiError``.
        """
        team, _, name = channel.rpartition("/")
        client = self._client(self._token(team))
        root = InChannel.post(client, name, plain_message(title, quote=saved.recommendation.incident.report))
        root.reply(self._answering.message(saved))
        return channel, root.thread

    def add(self, channel: str, thread: str, text: str) -> None:
        """Add a line to a thread that ``post`` began. Raises ``SlackApiError``."""
        team, _, name = channel.rpartition("/")
        InChannel(self._client(self._token(team)), name, thread, thread).reply(plain_message(text))

    def _client(self, token: str | None = None) -> WebClient:
        # Slack says how long to wait when it has had enough, and is obeyed.
        handlers = [ConnectionErrorRetryHandler(), RateLimitErrorRetryHandler(max_retry_count=3)]
        return WebClient(token=token, base_url=self.settings.api_url, retry_handlers=handlers)

    def _token(self, team: str | None) -> str:
        """The bot's token in a workspace, or, where none is named, the only one there is; "" when there is none."""
        known = {name: token.get_secret_value() for name, token in self.settings.bot_tokens.items()}
        if team not in known and self._installed is not None:
            known = self._installed.tokens() | known
        if team in known:
            return known[team]
        alone = self.settings.bot_token.get_secret_value()
        return alone or (next(iter(known.values())) if not team and len(known) == 1 else "")

    def _listen(self) -> None:
        self.app.error(_on_error)
        self.app.command("/revelio")(self._on_command)
        self.app.event("app_mention")(self._on_mention)
        self.app.event("app_uninstalled")(self._on_removed)
        self.app.event("tokens_revoked")(self._on_removed)
        self.app.shortcut("revelio_ask")(self._on_shortcut)
        self.app.action("revelio_open")(self._on_open)
        self.app.action("revelio_run")(self._on_run)
        self.app.action("revelio_found")(self._on_verdict("found"))
        self.app.action("revelio_not_useful")(self._on_verdict("not_useful"))

    def _on_command(self, ack: Ack, body: dict[str, Any], client: WebClient, respond: Respond) -> None:
        asked = read(str(body.get("text") or ""), self._max_chars)
        if asked.report in ("", "help") and not asked.incident:
            ack(text=HELP, response_type="ephemeral")
            return
        ack()
        channel, user = str(body["channel_id"]), str(body["user_id"])

        def answer() -> None:
            asking = plain_message("asks:", user=user, quote=asked.report or asked.incident)
            destination = _open(client, channel, None, respond, asking)
            self._answering.ask(destination, asked, channel)

        self._once(answer, "command", str(body.get("trigger_id")))

    def _on_mention(self, body: dict[str, Any], event: dict[str, Any], client: WebClient) -> None:
        # Events are acknowledged before this is called.
        if event.get("bot_id") or event.get("user") in {a.get("user_id") for a in body.get("authorizations") or ()}:
            return
        channel, ts, text = str(event["channel"]), str(event["ts"]), str(event.get("text") or "")
        thread = event.get("thread_ts")

        def answer() -> None:
            destination = InChannel.post(client, channel, plain_message(_LOOKING), str(thread or ts))
            earlier = [m for m in thread_messages(client, channel, str(thread)) if m.get("ts") != ts] if thread else []
            self._answering.ask(destination, read_thread(earlier, text, self._max_chars), channel)

        self._once(answer, "event", str(body.get("event_id")))

    def _on_shortcut(self, ack: Ack, body: dict[str, Any], client: WebClient, respond: Respond) -> None:
        ack()
        message, channel = body["message"], str(body["channel"]["id"])
        asked = SlackQuestion(read(str(message.get("text") or ""), self._max_chars).report)

        def answer() -> None:
            thread = str(message.get("thread_ts") or message["ts"])
            destination = _open(client, channel, thread, respond, plain_message(_LOOKING))
            self._answering.ask(destination, asked, channel)

        self._once(answer, "shortcut", str(body.get("trigger_id")))

    def _on_removed(self, body: dict[str, Any], event: dict[str, Any]) -> None:
        of_the_bot = event.get("type") == "app_uninstalled" or (event.get("tokens") or {}).get("bot")
        if self._installed is not None and of_the_bot:
            self._installed.forget(str(body.get("team_id")))

    def _on_open(self, ack: Ack) -> None:
        ack()

    def _on_run(self, ack: Ack, body: dict[str, Any], action: dict[str, Any], client: WebClient, respond: Respond) -> None:
        ack()
        destination, pressed = _stands(body, client, respond), str(action.get("value"))
        self._once(
            lambda: self._answering.run(destination, *read_button(pressed), _user(body)), "action", str(body.get("trigger_id"))
        )

    def _on_verdict(self, verdict: Verdict) -> Callable[..., None]:
        def pressed(ack: Ack, body: dict[str, Any], action: dict[str, Any], client: WebClient, respond: Respond) -> None:
            ack()
            destination, value = _stands(body, client, respond), str(action.get("value"))

            def keep() -> None:
                self._answering.say(destination, *read_button(value), verdict, _user(body))

            self._once(keep, "action", str(body.get("trigger_id")))

        return pressed

    def _once(self, act: Callable[[], None], *key: str) -> None:
        """Do it on another thread, unless this delivery was taken before: Slack sends again what it thinks lost."""

        def work() -> None:
            try:
                if self._deliveries.first("slack", *key):
                    act()
            except SlackApiError as error:
                log.warning("Slack refused %s: %s", error.response.api_url, error.response.get("error"))
            except (RevelioError, ValueError, OSError) as error:  # an OSError: Slack cannot be reached
                log.warning("a delivery from Slack failed: %s", error)
            except Exception:
                log.exception("a delivery from Slack failed")

        self._work.submit(work)


def _open(client: WebClient, channel: str, thread: str | None, respond: Respond, asking: Message) -> Destination:
    """A message to answer in: in the channel's thread, or, where the bot is not in the channel, for the asker alone."""
    try:
        if thread is None:
            thread = InChannel.post(client, channel, asking).thread
            asking = plain_message(_LOOKING)
        return InChannel.post(client, channel, asking, thread)
    except SlackApiError as error:
        if error.response.get("error") not in _NOT_HERE:
            raise
    destination = ForOne(respond, replace=False)
    destination.reply(plain_message("I am not in this channel, so only you see this. /invite me to post here."))
    return destination


def _stands(body: dict[str, Any], client: WebClient, respond: Respond) -> Destination:
    """The message whose button was pressed."""
    container = body.get("container") or {}
    if container.get("is_ephemeral") or not container.get("channel_id"):
        return ForOne(respond, replace=True)
    ts = str(container.get("message_ts"))
    return InChannel(client, str(container["channel_id"]), ts, str(container.get("thread_ts") or ts))


def _user(body: dict[str, Any]) -> str:
    user: dict[str, Any] = body.get("user") or {}
    return str(user.get("id") or "unknown")


def not_from_slack(error: Exception) -> BoltResponse:
    """The answer to a delivery that is signed and has a shape that Slack's do not have."""
    log.warning("a signed delivery has no shape that Slack sends: %s", type(error).__name__)
    return BoltResponse(status=400, body="The signature is right, but Slack sends nothing of this shape.")


def _on_error(error: Exception, response: BoltResponse | None) -> BoltResponse | None:
    """What a delivery that could not be handled is answered; None where it was acknowledged already."""
    refused = not_from_slack(error) if isinstance(error, MALFORMED) else BoltResponse(status=503, body="Send it again later.")
    if not isinstance(error, MALFORMED):
        log.error("a delivery from Slack failed", exc_info=error)
    return refused if response is not None else None
