"""Saves an alert at once, answers it on another thread together with others of its system, and posts the answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from revelio.errors import InvalidInputError, RevelioError, StoreError
from revelio.integrations.alert_store import CLAIM_S, AlertIncident, AlertStore, Outcome
from revelio.integrations.alerts import Alert, report_of
from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings.integrations import AlertSettings
from revelio.store import SavedAnswer
from revelio.systems.time_range import TimeRange

log = logging.getLogger(__name__)

MOST, TOGETHER_S = 500, 60.0
"""Alerts of one system that wait at the same time, and opened within so many seconds, are one question, up to ``MOST``."""
PAUSE_S = 5.0
"""Seconds between an answer about a system and the next question: what comes in meanwhile waits, and is one question."""


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
    """Handles alerts. Safe to share between threads.

    However many alerts come in, a system is asked about one at a time, with a pause between: each question is about all alerts
    that waited when it began.
    """

    def __init__(self, settings: AlertSettings, service: Service, store: AlertStore, announcer: Announcer | None = None) -> None:
        """Without an announcer, answers are saved but posted nowhere."""
        self._settings, self._service, self.store, self._announcer = settings, service, store, announcer
        self._work = ThreadPoolExecutor(2, thread_name_prefix="alerts")
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._waiting: dict[str, list[int]] = {}

    def close(self) -> None:
        """Finish running work; ``resume`` continues the rest after the next start."""
        with self._lock:
            self._closing.set()
        self._work.shutdown(wait=True, cancel_futures=True)

    def take(self, alert: Alert) -> Taken:
        """Save an alert, on disk when this returns; the answer follows. ``InvalidInputError`` when it names no known system."""
        incident, outcome = self.store.fold(alert, self._system(alert) if alert.status == "firing" else "")
        if incident is not None:
            if outcome == "resolved":
                self._work.submit(self._tell_end, incident)
            elif incident.answer_id is None:
                self._queue(incident)
        return Taken(outcome, incident)

    def resume(self) -> None:
        """Answer alerts that a crash left unanswered, at last those that another process was at. Returns after two minutes."""
        for pause in (0.0, CLAIM_S + 1.0):
            if self._closing.wait(pause):
                return
            for incident in self.store.waiting():
                self._queue(incident)

    def _queue(self, incident: AlertIncident) -> None:
        with self._lock:
            asked = incident.system in self._waiting
            self._waiting.setdefault(incident.system, []).append(incident.id)
        if not asked:
            self._submit(incident.system)

    def _submit(self, system: str) -> None:
        with self._lock:
            if not self._closing.is_set():
                self._work.submit(self._answer_waiting, system)

    def _answer_waiting(self, system: str) -> None:
        """Answer what waits, and after a pause what came in meanwhile; until then nothing else asks about this system."""
        with self._lock:
            now, self._waiting[system] = self._waiting[system][:MOST], self._waiting[system][MOST:]
            if not now:
                del self._waiting[system]
                return
        try:
            groups = tuple(_together(self.store.claim(now)))
        except StoreError as error:
            log.warning("alerts of %s are not answered yet: %s", system, error)
            groups = ()
            with self._lock:
                self._waiting[system] += now
        for group in groups:
            self._answer(group)
        pause = threading.Timer(PAUSE_S, self._submit, [system])
        pause.daemon = True
        pause.start()

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

    def _answer(self, group: Sequence[AlertIncident]) -> None:
        ids, last = [i.id for i in group], group[-1]
        report = last.report if len(group) == 1 else report_of([line for i in group for line in i.report.splitlines()])
        try:
            saved = self._service.recommend(RecommendRequest(report, last.system, time=TimeRange(at=last.opened_at)))
            self.store.answered(ids, saved.id)
        except RevelioError as error:
            log.warning("alert %d and %d more were not answered: %s", ids[0], len(ids) - 1, error)
            with suppress(StoreError):  # the next start tries again what could not be noted
                self.store.failed(ids, str(error))
            return
        except Exception:
            log.exception("alert %d and %d more were not answered", ids[0], len(ids) - 1)
            return
        try:
            self._announce(group, saved)
        except Exception as error:  # whatever keeps a message from being posted, the answer is there
            log.warning("the answer to alert %d was not posted: %s: %s", ids[0], type(error).__name__, error)

    def _announce(self, group: Sequence[AlertIncident], saved: SavedAnswer) -> None:
        ids, first, channel = [i.id for i in group], group[0], self._settings.slack_channel
        if self._announcer is None or not channel or not self.store.announce(ids, channel):
            return
        more = f", and {len(ids) - 1} more of {first.system}" if len(ids) > 1 else ""
        _, thread = self._announcer.post(channel, f"Alert from {first.source}: {first.title}{more}", saved)
        self.store.announced(ids, thread)

    def _tell_end(self, incident: AlertIncident) -> None:
        try:
            if self._announcer is None or not incident.channel or not incident.thread or self.store.open_with(incident):
                return
            self._announcer.add(incident.channel, incident.thread, f"Resolved, says {incident.source}.")
        except Exception:
            log.exception("the end of alert %d was not posted", incident.id)


def _together(incidents: Sequence[AlertIncident]) -> Iterator[Sequence[AlertIncident]]:
    """Incidents in the order of their opening, in groups of what opened within ``TOGETHER_S``."""
    begin = 0
    for end in range(1, len(incidents) + 1):
        if end == len(incidents) or incidents[end].opened_at > incidents[begin].opened_at + TOGETHER_S:
            yield incidents[begin:end]
            begin = end
