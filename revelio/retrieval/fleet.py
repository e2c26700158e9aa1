"""Large fleets: which components are asked about, where all candidates would be too many to rank.

The most anomalous components come first, so that no word hides what telemetry shows; then those whose names are nearest to the
report. All questions about a chosen component are candidates: which of them fits is the ranker's to say. The similarity of a
report with a question about a component is the sum of both similarities, so that the nearest names, found exactly by faiss, hold
the nearest candidates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from revelio.catalog import Catalog
from revelio.catalog.candidates import Inventory, within
from revelio.encoders.evidence import component, index_evidence
from revelio.encoders.report import Floats, TextEncoder
from revelio.retrieval.imported_questions import spelled
from revelio.types import Entity, Evidence, Incident

LARGEST = 5_000
"""Up to so many candidates all are ranked."""
_BY_EVIDENCE = LARGEST // 2
_NEAREST = 256


@dataclass(frozen=True, slots=True)
class NameIndex:
    """The names of components as vectors."""

    names: tuple[str, ...]
    index: Any

    def nearest(self, report: Floats, k: int) -> list[tuple[str, float]]:
        """The ``k`` names with the largest cosine, best first; ``report`` is a unit vector, or zeros for no name."""
        if not self.names or not report.any():
            return []
        scores, places = self.index.search(report[None], min(k, len(self.names)))
        return [(self.names[i], score) for i, score in zip(places[0].tolist(), scores[0].tolist(), strict=True)]


def index_names(names: Iterable[str], words: TextEncoder) -> NameIndex:
    """Encode names once. faiss is imported here: smaller systems do without."""
    import faiss  # noqa: PLC0415

    known = tuple(dict.fromkeys(names))
    index = faiss.IndexFlatIP(words.dimension)
    if known:
        index.add(words.encode([spelled(name) for name in known]))
    return NameIndex(known, index)


@dataclass(frozen=True, slots=True)
class _Fleet:
    """One inventory: its entities by component, and their names."""

    groups: Mapping[str, tuple[Entity, ...]]
    names: NameIndex | None


class Fleets:
    """Chooses what is asked about in large fleets. Safe to share between threads; the last inventories are cached."""

    def __init__(self, catalog: Catalog, words: TextEncoder | None, noise: Mapping[str, float]) -> None:
        """``words`` encodes names and reports; without, evidence alone chooses. ``noise`` is the noise floor of each metric."""
        self._catalog, self._words, self._noise = catalog, words, noise
        self._known = lru_cache(maxsize=8)(self._read)

    def chosen(self, there: Inventory, incident: Incident) -> Inventory:
        """The part of a large inventory that is worth asking about: at most about ``LARGEST`` candidates."""
        fleet = self._known(there)
        anomalous = [name for name in by_anomaly(incident.evidence, self._noise) if name in fleet.groups]
        first = within(self._catalog, there, (fleet.groups[name] for name in anomalous), _BY_EVIDENCE)
        report = self._words.encode([incident.report])[0] if self._words else np.zeros(0, np.float32)
        near = [name for name, _ in fleet.names.nearest(report, _NEAREST)] if fleet.names else []
        rest = (fleet.groups[name] for name in chain(near, anomalous, sorted(fleet.groups)))
        return replace(there, entities=within(self._catalog, there, chain([first], rest), LARGEST))

    def _read(self, there: Inventory) -> _Fleet:
        groups: dict[str, list[Entity]] = defaultdict(list)
        for entity in there.entities:
            for name in _components(entity):
                groups[name].append(entity)
        names = index_names(sorted(groups), self._words) if self._words else None
        return _Fleet({name: tuple(some) for name, some in groups.items()}, names)


def by_anomaly(evidence: Evidence, noise: Mapping[str, float]) -> list[str]:
    """The components of the evidence, the most anomalous first: by their largest deviation, then by name."""
    view = index_evidence(evidence, noise)
    largest = view.families.max(axis=1, initial=0.0)
    return [view.components[i] for i in np.lexsort((np.arange(len(largest)), -largest)).tolist() if largest[i] > 0.0]


def _components(entity: Entity) -> Iterator[str]:
    """The component of an entity; an edge also belongs to its caller."""
    yield component(entity.name)
    if "->" in entity.name:
        yield entity.name.partition("->")[0]
