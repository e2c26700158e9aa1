"""Ranks by how often a query was the answer in training, whatever the report and the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from revelio.training.evaluation.method import Example, Scores, from_weights
from revelio.types import Incident, Query


class Frequency:
    """Counts of each query as the answer; for unknown targets, counts of its template divided among its targets."""

    name = "frequency"

    def __init__(self) -> None:
        """Empty until fitted."""
        self._queries: Counter[str] = Counter()
        self._templates: Counter[str] = Counter()
        self._no_fault = 0.5

    def fit(self, examples: Sequence[Example]) -> None:
        """Count each incident once."""
        known = {e.incident.id: e for e in examples}
        for example in known.values():
            self._queries.update(q.id for q in example.best)
            self._templates.update({q.template.id for q in example.best})
        self._no_fault = sum(not e.grades.any() for e in known.values()) / max(1, len(known))

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """The normalised counts."""
        places = Counter(q.template.id for q in queries)
        weights = [self._queries[q.id] + 0.1 * self._templates[q.template.id] / places[q.template.id] for q in queries]
        return from_weights(np.array(weights, dtype=float), self._no_fault)
