"""Chance: all queries have the same probability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revelio.training.evaluation.method import Example, Scores, from_weights
from revelio.types import Incident, Query


class Shuffled:
    """Equal scores; the breaking of ties shuffles."""

    name = "random"

    def fit(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """Equal scores."""
        return from_weights(np.ones(len(queries)), 0.5)
