"""What works behind the routes that other systems call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from revelio.integrations.alert_book import AlertBook
from revelio.integrations.deliveries import Deliveries
from revelio.integrations.intake import Intake
from revelio.settings import Settings
from revelio.telemetry import Workers
from webui.accounts.who import acting
from webui.desk import Desk
from webui.door import DeskDoor

T = TypeVar("T")


class Behind:
    """The bot, the alerts' intake and the door of both. Its threads are its own: a busy page must not keep Slack waiting."""

    def __init__(self, settings: Settings, desk: Desk) -> None:
        """The bot exists only where its secrets are set."""
        database = desk.store.database
        self.door = door = DeskDoor(desk)
        self.settings = settings
        self._desk = desk
        self.bot = None
        self.installing = None
        if settings.slack.signing_secret.get_secret_value():
            from revelio.integrations.slack.bot import Bot  # noqa: PLC0415 -- 150 ms that a server without Slack need not pay
            from revelio.integrations.slack.installations import open_installations  # noqa: PLC0415 -- as above
            from revelio.integrations.slack.installing import Installing  # noqa: PLC0415 -- as above

            installed = open_installations(settings.slack, database)
            self.bot = Bot(settings.slack, door, Deliveries(database), installed, max_chars=settings.max_report_chars)
            if installed is not None:
                self.installing = Installing(settings.slack, installed, database, self._note_installation)
        self.intake = Intake(settings.alerts, door, AlertBook(database, masked=settings.mask), self.bot)
        self._threads = Workers(16, thread_name_prefix="webhook")

    async def do(self, act: Callable[[], T]) -> T:
        """Run what waits on a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, act)

    def _note_installation(self, team: str, name: str) -> None:
        self._desk.store.audit.add(acting(), "slack.install", team, name)

    def close(self) -> None:
        """Finish what was begun."""
        self.intake.close()
        self._threads.shutdown(wait=True)
        if self.bot is not None:
            self.bot.close()
