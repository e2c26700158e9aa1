"""The Slack bot and the alert handler behind the webhook routes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from revelio.errors import MissingExtraError
from revelio.integrations.alert_handler import AlertHandler
from revelio.integrations.alert_store import AlertStore
from revelio.integrations.deliveries import Deliveries
from revelio.service import Service
from revelio.settings import Settings
from revelio.store.engine import Database
from revelio.support.current_actor import current_actor
from revelio.support.extras import extras_for
from revelio.support.telemetry import Workers

if TYPE_CHECKING:
    from revelio.integrations.slack.bot import Bot
    from revelio.integrations.slack.installing import Installing

T = TypeVar("T")

log = logging.getLogger(__name__)

_NOT_INSTALLED = "Slack needs packages that are not installed: those of the extra `slack`."
_NO_SLACK = "Slack is not set up here: set slack.signing_secret and slack.bot_token; see `revelio docs slack`."


class WebhookRuntime:
    """The Slack bot and the alert handler. They have their own threads, so that a busy page does not delay Slack."""

    def __init__(self, settings: Settings, service: Service) -> None:
        """The bot needs its secrets and the extra `slack`; ``why_no_bot`` says what is missing."""
        database = service.store.database
        self.service = service
        self.settings = settings
        self.bot: Bot | None = None
        self.installing: Installing | None = None
        self.why_no_bot = _NO_SLACK
        if settings.slack.signing_secret.get_secret_value():
            try:
                self._start_bot(database)
            except MissingExtraError as error:
                self.why_no_bot = _NOT_INSTALLED
                log.warning("%s; the server runs without it", error)
        self.alerts = AlertHandler(settings.alerts, service, AlertStore(database, masked=settings.mask), self.bot)
        self._threads = Workers(16, thread_name_prefix="webhook")

    async def do(self, act: Callable[[], T]) -> T:
        """Run blocking code on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, act)

    def _start_bot(self, database: Database) -> None:
        with extras_for("Slack"):
            from revelio.integrations.slack.bot import Bot  # noqa: PLC0415 -- 150 ms that a server without Slack need not pay
            from revelio.integrations.slack.installations import open_installations  # noqa: PLC0415 -- as above
            from revelio.integrations.slack.installing import Installing  # noqa: PLC0415 -- as above

        slack = self.settings.slack
        installed = open_installations(slack, database)
        self.bot = Bot(slack, self.service, Deliveries(database), installed, max_chars=self.settings.max_report_chars)
        if installed is not None:
            self.installing = Installing(slack, installed, database, self._note_installation)

    def _note_installation(self, team: str, name: str) -> None:
        self.service.store.audit.add(current_actor(), "slack.install", team, name)

    def close(self) -> None:
        """Finish running work."""
        self.alerts.close()
        self._threads.shutdown(wait=True)
        if self.bot is not None:
            self.bot.close()
