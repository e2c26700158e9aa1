"""What works behind the routes that other systems call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from revelio.current_actor import current_actor
from revelio.integrations.alert_handler import AlertHandler
from revelio.integrations.alert_store import AlertStore
from revelio.integrations.deliveries import Deliveries
from revelio.service import Service
from revelio.settings import Settings
from revelio.telemetry import Workers

T = TypeVar("T")


class WebhookRuntime:
    """The Slack bot and the alert handler. They have their own threads, so that a busy page does not delay Slack."""

    def __init__(self, settings: Settings, service: Service) -> None:
        """The bot exists only where its secrets are set."""
        database = service.store.database
        self.service = service
        self.settings = settings
        self.bot = None
        self.installing = None
        if settings.slack.signing_secret.get_secret_value():
            from revelio.integrations.slack.bot import Bot  # noqa: PLC0415 -- 150 ms that a server without Slack need not pay
            from revelio.integrations.slack.installations import open_installations  # noqa: PLC0415 -- as above
            from revelio.integrations.slack.installing import Installing  # noqa: PLC0415 -- as above

            installed = open_installations(settings.slack, database)
            self.bot = Bot(settings.slack, service, Deliveries(database), installed, max_chars=settings.max_report_chars)
            if installed is not None:
                self.installing = Installing(settings.slack, installed, database, self._note_installation)
        self.alerts = AlertHandler(settings.alerts, service, AlertStore(database, masked=settings.mask), self.bot)
        self._threads = Workers(16, thread_name_prefix="webhook")

    async def do(self, act: Callable[[], T]) -> T:
        """Run what waits on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, act)

    def _note_installation(self, team: str, name: str) -> None:
        self.service.store.audit.add(current_actor(), "slack.install", team, name)

    def close(self) -> None:
        """Finish what was begun."""
        self.alerts.close()
        self._threads.shutdown(wait=True)
        if self.bot is not None:
            self.bot.close()
