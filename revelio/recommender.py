"""The one door to the ranking: an incident in, a recommendation out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from revelio.candidates import candidates
from revelio.catalog import Catalog
from revelio.errors import NotFoundError
from revelio.ranker.artifact import load_ranker
from revelio.ranker.explain import factors
from revelio.ranker.head import Head
from revelio.ranker.rank_change import RankChange, rank_change
from revelio.ranker.rerank import Reranked, rerank
from revelio.ranker.session import Ranker
from revelio.telemetry import traced
from revelio.types import Entity, Factor, Incident, Query, RankedQuery, Recommendation

_LEFT = "a result that stands out may show the cause already"


@dataclass(frozen=True, slots=True)
class Reranking:
    """A recommendation in the order of what came back, and for each of its queries where it stood before."""

    recommendation: Recommendation
    rank_changes: tuple[RankChange, ...]


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

    def with_head(self, head: Head | None, name: str) -> Recommender:
        """The same model with what was learnt beside it, under that name; without it where there is no head."""
        return Recommender(self.ranker.with_head(head, name), self.catalog)

    def candidates(self, incident: Incident) -> tuple[Query, ...]:
        """The incident's own candidates, else catalog x inventory."""
        return incident.candidates or self._of_inventory(frozenset(incident.evidence.entities))

    @cached_property
    def _of_inventory(self) -> Callable[[frozenset[Entity]], tuple[Query, ...]]:
        # A system has the same parts for days, and what the encoder knows of the candidates hangs on these very tuples.
        return lru_cache(maxsize=8)(lambda inventory: candidates(self.catalog, inventory))

    @traced("revelio.rank")
    def recommend(self, incident: Incident, k: int = 5) -> Recommendation:
        """The ``k`` most probable queries with their factors; fewer when there are fewer candidates."""
        began = time.perf_counter()
        queries = self.candidates(incident)
        if not queries:
            return Recommendation(incident, (), 1.0, self.model, incident.evidence.missing)
        encoded = self.ranker.encode(incident, queries)
        ranking = self.ranker.ranking(encoded)
        ranked = []
        for place, index in enumerate(ranking.order(k), 1):
            ranked.append(_ranked(queries[int(index)], place, factors(encoded, ranking, int(index))))
        took = (time.perf_counter() - began) * 1000.0
        return Recommendation(incident, tuple(ranked), ranking.abstain, self.model, incident.evidence.missing, took)

    def find(self, incident: Incident, query_id: str) -> RankedQuery:
        """One candidate as it stands among all; ``NotFoundError`` when it is none."""
        queries = self.candidates(incident)
        index = next((i for i, q in enumerate(queries) if q.id == query_id), None)
        if index is None:
            raise NotFoundError(f"no query {query_id!r} can be asked about this incident")
        encoded = self.ranker.encode(incident, queries)
        ranking = self.ranker.ranking(encoded)
        return _ranked(queries[index], ranking.order().tolist().index(index) + 1, factors(encoded, ranking, index))

    @traced("revelio.rerank")
    def rerank(self, incident: Incident, kept: Sequence[RankedQuery], k: int = 5) -> Reranking:
        """Rank anew, given the incident's findings: the ``k`` most probable queries, and all of ``kept`` wherever they stand.

        What is kept keeps its text, link and result; what the catalog no longer has comes last, as it was. Without a finding
        nothing moves.
        """
        began = time.perf_counter()
        queries = self.candidates(incident)
        index = {(q.template.id, q.bindings): i for i, q in enumerate(queries)}
        was = {index[key]: q for q in kept if (key := (q.query.template.id, q.query.bindings)) in index}
        found = {index[key]: f.signal for f in incident.findings if (key := (f.template, f.bindings)) in index}
        if not found:
            answer = Recommendation(incident, tuple(kept), 0.0, self.model, incident.evidence.missing)
            return Reranking(answer, tuple(RankChange(q.rank, "Same place: no result yet") for q in kept))
        reranked = rerank(self.ranker, incident, queries, found)
        order = reranked.order()
        shown = [i for place, i in enumerate(order) if place < k or i in was]
        before = {i: q.rank for i, q in was.items()}
        before |= {i: place for place, i in enumerate(reranked.before.order().tolist(), 1) if i not in was}
        ranked, rank_changes = [], []
        for place, i in enumerate(shown, 1):
            now, known = _ranked(queries[i], place, _factors(reranked, i)), was.get(i)
            if known is not None:
                now = replace(known, rank=place, probability=now.probability, factors=now.factors)
            ranked.append(now)
            rank_changes.append(rank_change(reranked, found, i, before[i], place))
        for q in kept:
            if (q.query.template.id, q.query.bindings) not in index:
                ranked.append(replace(q, rank=len(ranked) + 1))
                rank_changes.append(RankChange(q.rank, "Not ranked anew: the catalog no longer has it"))
        took = (time.perf_counter() - began) * 1000.0
        answer = Recommendation(incident, tuple(ranked), reranked.after.abstain, self.model, incident.evidence.missing, took)
        return Reranking(answer, tuple(rank_changes))


def _ranked(query: Query, place: int, parts: tuple[Factor, ...]) -> RankedQuery:
    return RankedQuery(query, place, math.exp(sum(f.log_probability for f in parts)), parts)


def _factors(reranked: Reranked, index: int) -> tuple[Factor, ...]:
    parts = factors(reranked.encoded, reranked.after, index)
    left = float(reranked.log_left[index])
    return (*parts, Factor("results", left, (_LEFT,))) if left else parts


def load_recommender(folder: Path, catalog: Catalog) -> Recommender:
    """A recommender from a model folder; ``ArtifactError`` when that is damaged."""
    return Recommender(load_ranker(folder, catalog), catalog)
