"""What the bot does after it has acknowledged: asks, runs, keeps verdicts, and edits its message as things happen."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from revelio.errors import RevelioError
from revelio.integrations.slack.asking import HELP, SlackQuestion
from revelio.integrations.slack.blocks import Message, answer_message, evidence_message, plain_message
from revelio.integrations.slack.destination import Destination
from revelio.presentation import evidence_panels
from revelio.presentation.panels import Chart
from revelio.presentation.pictures import picture
from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings.integrations import SlackSettings
from revelio.store import SavedAnswer, Verdict
from revelio.systems.time_range import parse_time_range
from revelio.types import Evidence, RankedQuery, Result

log = logging.getLogger(__name__)

_QUERIES = 3
_SIMILAR = 2
_PAGE = 200
_LOCKS = 16
_PICTURES = 4
"""Charts in one message. What has more units than that reads better as text."""


class Answering:
    """Safe to share between threads. Methods raise ``SlackApiError`` when Slack refuses; other errors are posted to the user."""

    def __init__(self, service: Service, settings: SlackSettings) -> None:
        """``service`` gives answers."""
        self._service, self._settings = service, settings
        self._edits = [threading.Lock() for _ in range(_LOCKS)]

    def ask(self, destination: Destination, asked: SlackQuestion, channel: str) -> None:
        """Answer a question in a message that is there already."""
        if not asked.report and not asked.incident:
            destination.edit(plain_message(HELP.replace("`", "")))
            return
        system = (
            ""
            if asked.incident
            else self._service.default_system(asked.system, self._settings.channels.get(channel, ""), self._settings.system)
        )
        if not system and not asked.incident:
            there = ", ".join(self._service.systems) or "none is set up"
            destination.edit(plain_message(f"Which system? Start with system:NAME; systems: {there}."))
            return
        self._telling(destination, lambda: self._answer(destination, asked, system))

    def run(self, destination: Destination, answer_id: str, query_id: str, user: str) -> None:
        """Run a query of an answer, post what it shows, and say so in the message."""
        self._telling(destination, lambda: self._run(destination, answer_id, query_id, user))

    def say(self, destination: Destination, answer_id: str, query_id: str, verdict: Verdict, user: str) -> None:
        """Keep a verdict and show it in the message."""

        def keep() -> None:
            self._service.feedback(answer_id, query_id, verdict, f"Slack user {user}")
            self._redraw(destination, self._service.answer(answer_id))

        self._telling(destination, keep)

    def page(self, answer_id: str) -> str:
        """The address of a whole answer; "" where the settings name none."""
        base = self._settings.public_url.rstrip("/")
        return f"{base}/r/{answer_id}" if base else ""

    def message(self, saved: SavedAnswer, doing: str = "") -> Message:
        """An answer as a message."""
        similar = self._service.similar(saved, _SIMILAR)
        return answer_message(saved, page=self.page(saved.id), doing=doing, similar=similar)

    def _answer(self, destination: Destination, asked: SlackQuestion, system: str) -> None:
        report = asked.report or "what happened here?"
        when = parse_time_range(asked.since, asked.at, asked.window, now=time.time())
        saved = self._service.recommend(RecommendRequest(report, system or None, asked.incident or None, k=_QUERIES, time=when))
        destination.edit(self.message(saved))

    def _run(self, destination: Destination, answer_id: str, query_id: str, user: str) -> None:
        saved = self._service.answer(answer_id)
        ranked = saved.ranked(query_id)
        destination.edit(self.message(saved, doing=f"Running {ranked.rank}. {ranked.query.title} …"))
        try:
            saved = self._service.run(saved, query_id)
            _show(destination, ranked, saved.result(query_id), saved.recommendation.incident.evidence)
        finally:
            self._redraw(destination, saved)

    def _redraw(self, destination: Destination, saved: SavedAnswer) -> None:
        # Serialized: the last edit must show the latest state.
        with self._edits[hash(saved.id) % _LOCKS]:
            destination.edit(self.message(self._service.store.refresh(saved)))

    def _telling(self, destination: Destination, act: Callable[[], None]) -> None:
        try:
            act()
        except RevelioError as error:
            destination.reply(plain_message(str(error)))
        except SlackApiError:
            raise
        except Exception:
            log.exception("a question from Slack failed")
            destination.reply(plain_message("Internal error in Revelio; see its log."))


def _show(destination: Destination, ranked: RankedQuery, result: Result, evidence: Evidence) -> None:
    """Series as pictures where they can be had; all else, and they too where not, in a few lines of text."""
    charts = [panel for panel in evidence_panels(result, evidence).panels if isinstance(panel, Chart)]
    drawn = [picture(chart) for chart in charts] if len(charts) <= _PICTURES else []
    if not drawn or not destination.illustrate(evidence_message(ranked, result, evidence, illustrated=True), drawn):
        destination.reply(evidence_message(ranked, result, evidence))


def thread_messages(client: WebClient, channel: str, thread: str) -> list[dict[str, Any]]:
    """Messages of a thread, oldest first; the first page of 200. Empty where the bot may not read it."""
    try:
        found = client.conversations_replies(channel=channel, ts=thread, limit=_PAGE)
    except SlackApiError as error:
        log.warning("cannot read a thread: %s", error.response.get("error"))
        return []
    messages: list[dict[str, Any]] = found.get("messages") or []
    return messages
