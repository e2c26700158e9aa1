"""The interface of ranking methods: they score the candidate queries of an incident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from revelio.types import Incident, Query

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """``log_probabilities [N]`` of the queries in the order given; ``abstain`` is higher when no fault is more likely."""

    log_probabilities: Floats
    abstain: float


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled case: an incident with one of its reports, its candidates, and their grades ``[N]`` (0: not accepted).

    ``signals [N]`` is the signal of each candidate when it was run, NaN if unknown; empty if none is known.
    """

    incident: Incident
    queries: tuple[Query, ...]
    grades: NDArray[np.int64]
    signals: Floats = field(default_factory=lambda: np.zeros(0))
    writer: str = ""

    @property
    def best(self) -> tuple[Query, ...]:
        """The candidates that show the cause itself."""
        return tuple(q for q, g in zip(self.queries, self.grades, strict=True) if g == 3)


class Method(Protocol):
    """Scores candidates. Raising on an incident counts as a miss there."""

    @property
    def name(self) -> str:
        """The name in tables."""

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """Scores of all queries."""


class Baseline(Method, Protocol):
    """A method that learns from the training split."""

    def fit(self, examples: Sequence[Example]) -> None:
        """Learn; called once, before scoring."""


def from_weights(weights: Floats, abstain: float) -> Scores:
    """Normalise non-negative weights; uniform when all are 0."""
    total = weights.sum()
    share = weights / total if total > 0 else np.full(len(weights), 1.0 / max(1, len(weights)))
    with np.errstate(divide="ignore"):
        return Scores(np.log(share), abstain)


def from_logits(logits: Floats, abstain: float) -> Scores:
    """A softmax over real scores."""
    return Scores(np.asarray(logits - np.logaddexp.reduce(logits) if len(logits) else logits), abstain)
