"""The evidence alone, unlearned: the query whose own reading left its baseline furthest (in the manner of BARO, 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revelio.catalog import Catalog
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.evaluation.method import Example, Scores, from_logits
from revelio.types import Incident, Query

_SCALE = 4.0
"""Turns squashed distances (about 1 for 20 spreads) into logits."""


class Anomaly:
    """Ranks by distance; a calm system makes it abstain."""

    name = "anomaly"

    def __init__(self, catalog: Catalog) -> None:
        """The catalog tells each metric's ripple."""
        noise = {m.name: m.noise_floor for tool in catalog.tools for m in tool.metrics}
        self._text = HashingEncoder()
        self._encoder = QueryEncoder(self._text, {}, noise)

    def fit(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """A softmax over squashed distances; what reads nothing counts as calm."""
        if not queries:
            return from_logits(np.zeros(0), 1.0)
        encoded = self._encoder.encode(incident, queries, self._text.encode([incident.report])[0])
        distance = encoded.feature("worst").astype(np.float64)
        return from_logits(_SCALE * distance, float(1.0 / (1.0 + np.exp(_SCALE * (distance.max() - 0.7)))))
