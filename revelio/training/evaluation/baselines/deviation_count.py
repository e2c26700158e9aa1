"""Evidence only, without training: the component with the most anomalous figures, then the query that reads one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from revelio.catalog import Catalog
from revelio.encoders.candidate_index import bound_names
from revelio.encoders.evidence import component, index_evidence, squash
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.support.anomaly import SIGNIFICANT_SIGMA
from revelio.training.evaluation.method import Example, Scores, from_logits
from revelio.types import Incident, Query

_LARGEST_READING = 2.0
"""Squashed readings are clipped to this, so that no reading outweighs one more anomalous figure."""


class DeviationCount:
    """Ranks components by the number of their anomalous figures, and the queries of one by the peak deviation they read."""

    name = "deviation_count"

    def __init__(self, catalog: Catalog) -> None:
        """The catalog has the noise floor of each metric."""
        self._noise = {m.name: m.noise_floor for tool in catalog.tools for m in tool.metrics}
        self._text = HashingEncoder()
        self._encoder = QueryEncoder(self._text, {}, self._noise)

    def fit(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """A softmax over counts and readings; without an anomalous figure it abstains."""
        if not queries:
            return from_logits(np.zeros(0), 1.0)
        index = index_evidence(incident.evidence, self._noise)
        anomalous = np.maximum(index.up, index.down) >= SIGNIFICANT_SIGMA
        count = Counter(component(name) for (name, _, _), row in index.row.items() if anomalous[row])
        encoded = self._encoder.encode(incident, queries, self._text.encode([incident.report])[0])
        limit = float(squash(np.array([SIGNIFICANT_SIGMA], dtype=np.float32))[0])
        reading = np.clip(encoded.feature("worst").astype(np.float64), 0.0, _LARGEST_READING) / (_LARGEST_READING + limit)
        counts = [max((count[component(name)] for name in bound_names(q)[:1]), default=0) for q in queries]
        return from_logits(np.array(counts, dtype=float) + reading, 1.0 / (1.0 + max(count.values(), default=0)))
