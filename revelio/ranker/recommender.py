"""Ranks the candidate queries of an incident, before and after some were run."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import attrgetter
from pathlib import Path
from threading import Lock

from cachetools import LRUCache, cachedmethod

from revelio.catalog import Catalog
from revelio.catalog.candidates import Inventory, candidates, inventory, more_than
from revelio.encoders.identity_cache import ByIdentity
from revelio.errors import NotFoundError
from revelio.ranker.artifact import load_ranker
from revelio.ranker.explain import factors
from revelio.ranker.head import Head
from revelio.ranker.rank_change import RankChange, rank_change
from revelio.ranker.report_effect import NOT_UNDERSTOOD, report_effect
from revelio.ranker.rerank import Reranked, rerank
from revelio.ranker.session import Ranker
from revelio.retrieval.fleet import LARGEST, Fleets
from revelio.retrieval.incident_vectors import IncidentVectors
from revelio.support.telemetry import traced
from revelio.types import Factor, Incident, Query, RankedQuery

_LEFT = "An anomalous result may already show the cause"


@dataclass(frozen=True, slots=True)
class RankedCandidates:
    """The most probable candidates of an incident with reasons, and the probability that there is no fault.

    ``report_effect`` says what the report changed; "" where that is not known.
    """

    queries: tuple[RankedQuery, ...]
    no_fault_probability: float
    report_effect: str = ""


def _rerank_key(
    _: Recommender, incident: Incident, queries: tuple[Query, ...], found: Mapping[int, float]
) -> tuple[Hashable, ...]:
    return ByIdentity(incident.evidence), ByIdentity(queries), incident.report, frozenset(found.items())


class Recommender:
    """Ranks the candidate queries of an incident."""

    def __init__(self, ranker: Ranker, catalog: Catalog) -> None:
        """``catalog`` gives the tools, and the candidates of incidents that carry none."""
        self.ranker = ranker
        self.catalog = catalog
        # Results come in one by one, and everybody who looks at the answer meanwhile sees the same ranks.
        self._reranked: LRUCache[tuple[Hashable, ...], Reranked] = LRUCache(8)
        self._lock = Lock()

    @property
    def model(self) -> str:
        """The model's name and version."""
        return self.ranker.name

    @cached_property
    def incident_vectors(self) -> IncidentVectors:
        """Turns answers into vectors by which similar ones are found."""
        return IncidentVectors(self.ranker.encoder.text, self.ranker.encoder.noise)

    def with_head(self, head: Head | None, name: str) -> Recommender:
        """The same model under that name, with what ``head`` learned from feedback; without a head, the base model."""
        return Recommender(self.ranker.with_head(head, name), self.catalog)

    def candidates(self, incident: Incident) -> tuple[Query, ...]:
        """The incident's own candidates, else catalog x inventory; of large fleets, what is worth asking about."""
        if incident.candidates:
            return incident.candidates
        there = inventory(incident.evidence)
        return self._of_inventory(self._fleets.chosen(there, incident) if self._large(there) else there)

    @cached_property
    def _large(self) -> Callable[[Inventory], bool]:
        return lru_cache(maxsize=8)(lambda there: more_than(self.catalog, there, LARGEST))

    @cached_property
    def _fleets(self) -> Fleets:
        return Fleets(self.catalog, self.ranker.encoder.words, self.ranker.encoder.noise)

    @cached_property
    def _of_inventory(self) -> Callable[[Inventory], tuple[Query, ...]]:
        # The entities of a system stay the same for days, and the encoder caches by the identity of these tuples.
        return lru_cache(maxsize=8)(lambda there: candidates(self.catalog, there))

    @traced("revelio.rank")
    def rank(self, incident: Incident, queries: tuple[Query, ...], k: int = 5) -> RankedCandidates:
        """The ``k`` most probable of these candidates with their factors; fewer when there are fewer."""
        if not queries:
            return RankedCandidates((), 0.5)
        encoded = self.ranker.encode(incident, queries)
        said = self.ranker.understands(incident.report)
        without = self.ranker.rank_without_report(incident, queries) if said and incident.report.strip() else None
        ranking = self.ranker.rank(encoded)
        titles = self.catalog.titles(incident.evidence.sources)
        first = enumerate(ranking.order(k).tolist(), 1)
        ranked = tuple(_ranked(queries[i], place, factors(encoded, ranking, i, titles)) for place, i in first)
        effect = "" if said or not incident.report.strip() else NOT_UNDERSTOOD
        return RankedCandidates(ranked, ranking.abstain, report_effect(ranking, without.result()) if without else effect)

    def find(self, incident: Incident, query_id: str) -> RankedQuery:
        """One candidate with its rank among all; ``NotFoundError`` when no candidate has this id."""
        queries = self.candidates(incident)
        index = next((i for i, q in enumerate(queries) if q.id == query_id), None)
        if index is None:
            raise NotFoundError(f"no query {query_id!r} among the candidates of this incident")
        encoded = self.ranker.encode(incident, queries)
        ranking = self.ranker.rank(encoded)
        titles = self.catalog.titles(incident.evidence.sources)
        return _ranked(queries[index], ranking.order().tolist().index(index) + 1, factors(encoded, ranking, index, titles))

    @traced("revelio.rerank")
    def rerank(
        self, incident: Incident, kept: Sequence[RankedQuery], k: int = 5
    ) -> tuple[RankedCandidates, tuple[RankChange, ...]]:
        """Re-rank with the incident's findings: the ``k`` most probable queries, and all of ``kept`` at any rank.

        Kept queries keep their text, link and result. Those that are no longer candidates come last, unchanged. Without a
        finding, ranks do not change.
        """
        queries = self.candidates(incident)
        index = {(q.template.id, q.bindings): i for i, q in enumerate(queries)}
        was = {index[key]: q for q in kept if (key := (q.query.template.id, q.query.bindings)) in index}
        found = {index[key]: f.signal for f in incident.findings if (key := (f.template, f.bindings)) in index}
        if not found:
            no_fault = self.rank(incident, queries, 1).no_fault_probability
            return RankedCandidates(tuple(kept), no_fault), tuple(RankChange(q.rank, "") for q in kept)
        reranked = self._rerank(incident, queries, found)
        order = reranked.order()
        titles = self.catalog.titles(incident.evidence.sources)
        shown = [i for rank, i in enumerate(order) if rank < k or i in was]
        before = {i: q.rank for i, q in was.items()}
        before |= {i: rank for rank, i in enumerate(reranked.before.order().tolist(), 1) if i not in was}
        ranked, rank_changes = [], []
        for rank, i in enumerate(shown, 1):
            now, known = _ranked(queries[i], rank, _reranked_factors(reranked, i, titles)), was.get(i)
            if known is not None:
                now = replace(known, rank=rank, probability=now.probability, factors=now.factors)
            ranked.append(now)
            rank_changes.append(rank_change(reranked, found, i, before[i], rank))
        for q in kept:
            if (q.query.template.id, q.query.bindings) not in index:
                ranked.append(replace(q, rank=len(ranked) + 1))
                rank_changes.append(RankChange(q.rank, "Not re-ranked: no longer a candidate"))
        return RankedCandidates(tuple(ranked), reranked.after.abstain), tuple(rank_changes)

    @cachedmethod(attrgetter("_reranked"), key=_rerank_key, lock=attrgetter("_lock"))
    def _rerank(self, incident: Incident, queries: tuple[Query, ...], found: Mapping[int, float]) -> Reranked:
        return rerank(self.ranker, incident, queries, found)


def _reranked_factors(reranked: Reranked, index: int, titles: Mapping[str, str]) -> tuple[Factor, ...]:
    parts = factors(reranked.encoded, reranked.after, index, titles)
    left = float(reranked.log_left[index])
    return (*parts, Factor("results", left, (_LEFT,))) if left else parts


def _ranked(query: Query, rank: int, parts: tuple[Factor, ...]) -> RankedQuery:
    return RankedQuery(query, rank, math.exp(sum(f.log_probability for f in parts)), parts)


def load_recommender(folder: Path, catalog: Catalog) -> Recommender:
    """A recommender from a model folder; ``ArtifactError`` when that is damaged."""
    return Recommender(load_ranker(folder, catalog), catalog)
