"""The one door to the ranking: an incident in, a recommendation out."""

from __future__ import annotations

import math
import time
from pathlib import Path

from revelio.candidates import candidates
from revelio.catalog import Catalog
from revelio.ranker.artifact import load_ranker
from revelio.ranker.explain import factors
from revelio.ranker.scoring import rank
from revelio.ranker.session import Ranker
from revelio.telemetry import traced
from revelio.types import Incident, Query, RankedQuery, Recommendation


class Recommender:
    """Ranks the queries that could be asked about an incident."""

    def __init__(self, ranker: Ranker, catalog: Catalog) -> None:
        """``catalog`` gives the candidates of incidents that bring none of their own."""
        self.ranker = ranker
        self.catalog = catalog

    @property
    def model(self) -> str:
        """The model's name and version."""
        return self.ranker.name

    def candidates(self, incident: Incident) -> tuple[Query, ...]:
        """The incident's own candidates, else catalog x inventory."""
        return incident.candidates or candidates(self.catalog, incident.evidence.entities)

    @traced("revelio.rank")
    def recommend(self, incident: Incident, k: int = 5) -> Recommendation:
        """The ``k`` most probable queries with their factors; fewer when there are fewer candidates."""
        began = time.perf_counter()
        queries = self.candidates(incident)
        if not queries:
            return Recommendation(incident, (), 1.0, self.model, incident.evidence.missing)
        encoded = self.ranker.encode(incident, queries)
        ranking = rank(encoded, self.ranker.logits(encoded), self.ranker.calibration)
        ranked = []
        for place, index in enumerate(ranking.order()[:k], 1):
            parts = factors(encoded, ranking, int(index))
            probability = math.exp(sum(f.log_probability for f in parts))
            ranked.append(RankedQuery(queries[int(index)], place, probability, parts))
        took = (time.perf_counter() - began) * 1000.0
        return Recommendation(incident, tuple(ranked), ranking.abstain, self.model, incident.evidence.missing, took)


def load_recommender(folder: Path, catalog: Catalog) -> Recommender:
    """A recommender from a model folder; ``ArtifactError`` when that is damaged."""
    return Recommender(load_ranker(folder, catalog), catalog)
