"""What the data sources returned for a system: now, or when it was last asked about."""

from __future__ import annotations

import time
from dataclasses import dataclass

from revelio.service.service import Service
from revelio.store.history import Search, search_history
from revelio.types import Evidence


@dataclass(frozen=True, slots=True)
class SystemSnapshot:
    """What the data sources last returned for a system: live just now, for an answer, or for a recorded incident."""

    at: float
    evidence: Evidence
    answer: str | None = None
    recorded: str | None = None


def take_snapshot(service: Service, system: str) -> SystemSnapshot:
    """What the data sources of a live system return now."""
    at = time.time()
    return SystemSnapshot(at, service.system(system).snapshot(at))


def last_snapshot(service: Service, system: str) -> SystemSnapshot | None:
    """The latest evidence about a system, from its answers and its recorded incidents; None when there is none."""
    recorded = [r for r in service.recorded() if r.system == system]
    found = [SystemSnapshot(r.opened_at, service.incidents.get(r.id).evidence, recorded=r.id) for r in recorded[-1:]]
    for answer in search_history(service.store, Search(system=system, live_only=True), limit=1).answers:
        incident = service.answer(answer.entry.id).recommendation.incident
        found.append(SystemSnapshot(incident.opened_at, incident.evidence, answer=answer.entry.id))
    return max((s for s in found if s.evidence.entities), key=lambda s: s.at, default=None)
