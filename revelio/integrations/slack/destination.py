"""Where an answer stands in Slack: a message in a thread, or what only the asker sees. Both can be edited and replied to."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from http.client import HTTPException
from typing import Any, Protocol

from slack_bolt import Respond
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from revelio.integrations.slack.blocks import Message, image
from revelio.presentation.pictures import Picture

log = logging.getLogger(__name__)

_READY_S = (0.0, 0.5, 1.0, 2.0, 4.0)
"""Slack refuses a picture that it is still working on, and does not say when it is done."""


class Destination(Protocol):
    """One message of the bot's, and the thread that it stands in."""

    def edit(self, message: Message) -> None:
        """Put this in place of what the message says."""
        ...

    def reply(self, message: Message) -> None:
        """Add this below it."""
        ...

    def illustrate(self, message: Message, pictures: Sequence[Picture]) -> bool:
        """Add this below it, with pictures; False, and nothing is added, where Slack takes none."""
        ...


class InChannel:
    """A message visible to the whole channel. Raises ``SlackApiError`` when Slack refuses."""

    def __init__(self, client: WebClient, channel: str, ts: str, thread: str) -> None:
        """``ts`` names the message, ``thread`` the thread that it is in."""
        self._client, self._channel, self._ts, self.thread = client, channel, ts, thread

    @classmethod
    def post(cls, client: WebClient, channel: str, message: Message, thread: str | None = None) -> InChannel:
        """Post a new message, in a thread or starting one."""
        sent = client.chat_postMessage(channel=channel, thread_ts=thread, **_fields(message))
        ts = str(sent["ts"])
        return cls(client, str(sent.get("channel") or channel), ts, thread or ts)

    def edit(self, message: Message) -> None:
        """Replace the message's text."""
        self._client.chat_update(channel=self._channel, ts=self._ts, text=message.text, blocks=list(message.blocks))

    def reply(self, message: Message) -> None:
        """Post in the same thread."""
        self._client.chat_postMessage(channel=self._channel, thread_ts=self.thread, **_fields(message))

    def illustrate(self, message: Message, pictures: Sequence[Picture]) -> bool:
        """Post in the same thread, with pictures; False where the scope is missing or the upload fails."""
        # Uploaded for the bot alone and shown by the message: a file that is shared at once loses its alternative text, or is
        # now and then not shared at all.
        files = [{"filename": f"chart-{n}.png", "content": p.png, "title": p.title} for n, p in enumerate(pictures, 1)]
        try:
            sent: list[dict[str, Any]] = self._client.files_upload_v2(file_uploads=files)["files"]
        except (SlackClientError, HTTPException, OSError) as error:
            why = error.response.get("error") if isinstance(error, SlackApiError) else type(error).__name__
            log.warning("Slack takes no pictures: %s%s", why, "; add the scope files:write" if why == "missing_scope" else "")
            return False
        blocks = (image(str(file["id"]), p.alt) for file, p in zip(sent, pictures, strict=True))
        whole = replace(message, blocks=(*message.blocks, *blocks))
        for wait in _READY_S:
            time.sleep(wait)
            try:
                self.reply(whole)
            except SlackApiError as error:
                if error.response.get("error") != "invalid_blocks":
                    raise
            else:
                return True
        log.warning("Slack does not show a picture that was uploaded")
        return False


class ForOne:
    """What only the asker sees, where the bot is not in the channel. Slack forgets how to edit it after 30 minutes."""

    def __init__(self, respond: Respond, *, replace: bool) -> None:
        """``respond`` is bound to the request's own address; ``replace`` where the request came from such a message."""
        self._respond, self._replace = respond, replace

    def edit(self, message: Message) -> None:
        """Replace the message, or say it in a new one where Slack cannot."""
        self._respond(text=message.text, blocks=list(message.blocks), response_type="ephemeral", replace_original=self._replace)

    def reply(self, message: Message) -> None:
        """Show another one below it."""
        self._respond(text=message.text, blocks=list(message.blocks), response_type="ephemeral", replace_original=False)

    def illustrate(self, message: Message, pictures: Sequence[Picture]) -> bool:
        """Never: the bot cannot share a file where it is not."""
        return False


def _fields(message: Message) -> dict[str, Any]:
    # Previews of deep links would bury the answer, and fetch them for Slack.
    return {"text": message.text, "blocks": list(message.blocks), "unfurl_links": False, "unfurl_media": False}
