"""The recorded incidents that a page offers: listed at once, read when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from revelio.errors import DatasetError, NotFoundError
from revelio.systems.incidents.exchange import Record, headings_of, records_of
from revelio.systems.incidents.files import SUFFIXES, IncidentFiles

T = TypeVar("T")


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
        self._listed = lru_cache(maxsize=4096)(self._read_heading)

    def ids(self) -> tuple[str, ...]:
        """Sorted by name."""
        names = IncidentFiles(self.folder).names()
        return tuple(sorted({n.removesuffix(s) for n in names for s in SUFFIXES if n.endswith(s)}))

    def list(self) -> tuple[RecordedIncident, ...]:
        """All of them, oldest first; ``DatasetError`` where a file has no heading."""
        return tuple(sorted((self._listed(i) for i in self.ids()), key=lambda r: (r.opened_at, r.id)))

    def get(self, incident_id: str) -> Record:
        """One record, whole; ``NotFoundError`` names those there are."""
        if incident_id not in self.ids():
            there = ", ".join(self.ids()) or "none"
            raise NotFoundError(f"no recorded incident {incident_id!r}; there are: {there}")
        return self._read(incident_id)

    def _read_file(self, incident_id: str) -> Record:
        return self._first_of(incident_id, records_of)

    def _read_heading(self, incident_id: str) -> RecordedIncident:
        head = self._first_of(incident_id, headings_of)
        texts = tuple(report.text for report in head.reports)
        return RecordedIncident(head.id, head.system, head.opened_at, texts[0] if texts else "", texts)

    def _first_of(self, incident_id: str, read: Callable[[IncidentFiles, str], Iterator[T]]) -> T:
        files = IncidentFiles(self.folder)
        for name in (f"{incident_id}{suffix}" for suffix in SUFFIXES):
            if files.has(name):
                found = next(read(files, name), None)
                if found is None:
                    raise DatasetError(f"{self.folder / name}: holds no incident")
                return found
        raise NotFoundError(f"recorded incident {incident_id!r} was removed from {self.folder}")
