"""A trained model as a method, with all inputs or without one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from revelio.ranker.session import Ranker
from revelio.training.evaluation.method import Scores
from revelio.types import Evidence, Incident, Query


class Trained:
    """The ranker of a model folder."""

    def __init__(self, ranker: Ranker) -> None:
        """The ranker is shared, not copied."""
        self.ranker = ranker
        self.name = ranker.name

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """The ranking as served."""
        ranking = self.ranker.rank_after_runs(incident, queries)
        return Scores(np.asarray(ranking.log_probability, dtype=np.float64), ranking.abstain)


@dataclass(frozen=True, slots=True)
class WithoutReport:
    """The same model with an empty report."""

    inner: Trained
    name: str = "evidence_only"

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """Scores with an empty report."""
        return self.inner.score(replace(incident, report=""), queries)


@dataclass(frozen=True, slots=True)
class WithoutEvidence:
    """The same model with an empty snapshot, only the inventory."""

    inner: Trained
    name: str = "report_only"

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """Scores with an empty snapshot."""
        seen = incident.evidence
        return self.inner.score(replace(incident, evidence=Evidence(seen.window, seen.baseline, seen.entities)), queries)
