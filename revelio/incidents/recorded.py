"""The recorded incidents that a page offers: listed at once, read when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from revelio.errors import DatasetError, NotFoundError
from revelio.incidents.exchange import Record, records_of
from revelio.incidents.files import SUFFIXES, IncidentFiles


@dataclass(frozen=True, slots=True)
class RecordedIncident:
    """What a list shows of a recorded incident: never more than was known when it was opened."""

    id: str
    system: str
    opened_at: float
    report: str
    reports: tuple[str, ...]


class RecordedIncidents:
    """A folder of ``<id>.jsonl.xz`` files, one record each, packed or not. A folder that is not there holds none."""

    def __init__(self, folder: Path) -> None:
        """Nothing is read yet."""
        self.folder = folder
        self._read = lru_cache(maxsize=64)(self._read_file)

    def ids(self) -> tuple[str, ...]:
        """Sorted by name."""
        names = IncidentFiles(self.folder).names()
        return tuple(sorted({n.removesuffix(s) for n in names for s in SUFFIXES if n.endswith(s)}))

    def list(self) -> tuple[RecordedIncident, ...]:
        """All of them, oldest first."""
        found = [self.get(i) for i in self.ids()]
        rows = [
            RecordedIncident(
                r.id, r.system, r.opened_at, r.reports[0].text if r.reports else "", tuple(x.text for x in r.reports)
            )
            for r in found
        ]
        return tuple(sorted(rows, key=lambda r: (r.opened_at, r.id)))

    def get(self, incident_id: str) -> Record:
        """One record, whole; ``NotFoundError`` names those there are."""
        if incident_id not in self.ids():
            there = ", ".join(self.ids()) or "none"
            raise NotFoundError(f"no recorded incident {incident_id!r}; there are: {there}")
        return self._read(incident_id)

    def _read_file(self, incident_id: str) -> Record:
        files = IncidentFiles(self.folder)
        for name in (f"{incident_id}{suffix}" for suffix in SUFFIXES):
            if files.has(name):
                record = next(records_of(files, name), None)
                if record is None:
                    raise DatasetError(f"{self.folder / name}: holds no incident")
                return record
        raise NotFoundError(f"recorded incident {incident_id!r} was removed from {self.folder}")
