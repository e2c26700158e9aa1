"""Nearest neighbours: the answers of the most similar past incidents, at the targets that deviate most now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np

from revelio.catalog import Catalog
from revelio.encoders.query import EncodedIncident, QueryEncoder
from revelio.encoders.report import CachingEncoder, Floats, TextEncoder
from revelio.training.evaluation.method import Example, Scores, from_weights
from revelio.types import Incident, Query

NEIGHBOURS = 5
_EVIDENCE = 2.0
"""Weight of the distance of evidence relative to that of reports."""


@dataclass(frozen=True, slots=True)
class _Past:
    """One training case: its vectors, the templates that show its cause, and whether it had no fault."""

    said: Floats
    seen: dict[str, float]
    templates: frozenset[str]
    no_fault: bool


class Nearest:
    """The five nearest past cases vote for templates; the deviation of each target decides among targets."""

    name = "nearest_incident"

    def __init__(self, catalog: Catalog, text: TextEncoder) -> None:
        """The catalog has the noise floor of each metric, ``text`` returns unit vectors."""
        noise = {m.name: m.noise_floor for tool in catalog.tools for m in tool.metrics}
        self._text = CachingEncoder(text)
        self._encoder = QueryEncoder(self._text, {}, noise)
        self._past: list[_Past] = []

    def fit(self, examples: Sequence[Example]) -> None:
        """Store every case with an answer or without a fault."""
        for example in examples:
            best = frozenset(q.template.id for q in example.best)
            if best or not example.grades.any():
                encoded = self._encoded(example.incident, example.queries)
                self._past.append(_Past(encoded.report, _seen(encoded), best, not best))

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """The votes, divided over the targets of a template by their deviation; uniform without past cases."""
        if not queries or not self._past:
            return from_weights(np.ones(len(queries)), 0.5)
        encoded = self._encoded(incident, queries)
        seen = _seen(encoded)
        near = sorted(self._past, key=lambda past: _distance(past, encoded.report, seen))[:NEIGHBOURS]
        votes: dict[str, float] = defaultdict(float)
        for past in near:
            for template in past.templates:
                votes[template] += 1.0 / len(past.templates)
        place = np.exp(4.0 * encoded.feature("worst").astype(np.float64))
        total: dict[str, float] = defaultdict(float)
        for query, share in zip(queries, place, strict=True):
            total[query.template.id] += share
        weights = [(votes[q.template.id] + 1e-3) * s / total[q.template.id] for q, s in zip(queries, place, strict=True)]
        return from_weights(np.array(weights), sum(p.no_fault for p in near) / len(near))

    def _encoded(self, incident: Incident, queries: tuple[Query, ...]) -> EncodedIncident:
        return self._encoder.encode(incident, queries, self._text.encode([incident.report])[0])


def _seen(encoded: EncodedIncident) -> dict[str, float]:
    """The peak squashed deviation of each template at any target, clipped to [0, 2]."""
    largest = np.zeros(len(encoded.templates))
    np.maximum.at(largest, encoded.template_of, encoded.feature("worst"))
    return dict(zip((t.id for t in encoded.templates), np.clip(largest, 0, 2).tolist(), strict=True))


def _distance(past: _Past, said: Floats, seen: dict[str, float]) -> float:
    shared = past.seen.keys() & seen.keys()
    gap = fsum((past.seen[t] - seen[t]) ** 2 for t in shared)
    evidence = sqrt(gap / len(shared)) if shared else 1.0
    return 1.0 - float(past.said @ said) + _EVIDENCE * evidence
