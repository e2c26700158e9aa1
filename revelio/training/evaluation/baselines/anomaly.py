"""Evidence only, without training: ranks by the peak deviation that a query reads (as BARO, 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revelio.catalog import Catalog
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.training.evaluation.method import Example, Scores, from_logits
from revelio.types import Incident, Query

_SCALE = 4.0
"""Turns squashed deviations (about 1 for 20σ) into logits."""


class Anomaly:
    """Ranks by deviation; without deviations it abstains."""

    name = "anomaly"

    def __init__(self, catalog: Catalog) -> None:
        """The catalog has the noise floor of each metric."""
        noise = {m.name: m.noise_floor for tool in catalog.tools for m in tool.metrics}
        self._text = HashingEncoder()
        self._encoder = QueryEncoder(self._text, {}, noise)

    def fit(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """A softmax over squashed deviations; queries without data have deviation 0."""
        if not queries:
            return from_logits(np.zeros(0), 1.0)
        encoded = self._encoder.encode(incident, queries, self._text.encode([incident.report])[0])
        deviation = encoded.feature("worst").astype(np.float64)
        return from_logits(_SCALE * deviation, float(1.0 / (1.0 + np.exp(_SCALE * (deviation.max() - 0.7)))))
