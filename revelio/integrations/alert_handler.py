"""Saves an alert at once, answers it on another thread, and posts the answer."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from revelio.errors import InvalidInputError, RevelioError
from revelio.integration_settings import AlertSettings
from revelio.integrations.alert_store import AlertIncident, AlertStore, Outcome
from revelio.integrations.alerts import Alert
from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.store import SavedAnswer
from revelio.time_range import TimeRange

log = logging.getLogger(__name__)


class Announcer(Protocol):
    """Posts answers, for example the Slack bot."""

    def post(self, channel: str, title: str, saved: SavedAnswer) -> tuple[str, str]:
        """Start a thread; gives channel and thread."""
        ...

    def add(self, channel: str, thread: str, text: str) -> None:
        """Add a line to a thread."""
        ...


@dataclass(frozen=True, slots=True)
class Taken:
    """The outcome of an alert. ``incident`` is None when a resolved alert had no open incident."""

    outcome: Outcome
    incident: AlertIncident | None


class AlertHandler:
    """Handles alerts. Safe to share between threads."""

    def __init__(self, settings: AlertSettings, service: Service, store: AlertStore, announcer: Announcer | None = None) -> None:
        """Without an announcer, answers are saved but posted nowhere."""
        self._settings, self._service, self.store, self._announcer = settings, service, store, announcer
        self._work = ThreadPoolExecutor(2, thread_name_prefix="alerts")

    def close(self) -> None:
        """Finish running work; ``resume`` continues the rest after the next start."""
        self._work.shutdown(wait=True, cancel_futures=True)

    def take(self, alert: Alert) -> Taken:
        """Save an alert, on disk when this returns; the answer follows. ``InvalidInputError`` when it names no known system."""
        incident, outcome = self.store.fold(alert, self._system(alert) if alert.status == "firing" else "")
        if incident is not None:
            if outcome == "resolved":
                self._work.submit(self._tell_end, incident)
            elif incident.answer_id is None:
                self._work.submit(self._answer, incident.id)
        return Taken(outcome, incident)

    def resume(self) -> None:
        """Answer alerts that a crash left unanswered."""
        for incident in self.store.waiting():
            self._work.submit(self._answer, incident)

    def _system(self, alert: Alert) -> str:
        there = self._service.systems
        said = next((name for name in there if name.casefold() == alert.system.casefold()), "")
        chosen = self._service.default_system(said, self._settings.system)
        if chosen not in there:
            label, names = self._settings.system_label, ", ".join(there) or "none"
            raise InvalidInputError(
                f"the alert names no system that is set up ({names}): give it the label {label!r}, or set alerts.system"
            )
        return chosen

    def _answer(self, incident_id: int) -> None:
        try:
            incident = self.store.claim(incident_id)
            if incident is None:
                return
            try:
                asked = RecommendRequest(incident.report, incident.system, time=TimeRange(at=incident.opened_at))
                saved = self._service.recommend(asked)
            except RevelioError as error:
                self.store.failed(incident_id, str(error))
                raise
            self.store.answered(incident_id, saved.id)
            self._announce(incident, saved)
        except RevelioError as error:
            log.warning("alert %d was not answered: %s", incident_id, error)
        except Exception:
            log.exception("alert %d was not answered", incident_id)

    def _announce(self, incident: AlertIncident, saved: SavedAnswer) -> None:
        channel = self._settings.slack_channel
        if self._announcer is None or not channel or not self.store.announce(incident.id, channel):
            return
        _, thread = self._announcer.post(channel, f"Alert from {incident.source}: {incident.title}", saved)
        self.store.announced(incident.id, thread)

    def _tell_end(self, incident: AlertIncident) -> None:
        try:
            if self._announcer is not None and incident.channel and incident.thread:
                self._announcer.add(incident.channel, incident.thread, f"Resolved, says {incident.source}.")
        except Exception:
            log.exception("the end of alert %d was not posted", incident.id)
