"""The main path, from a report to ranked queries: window, evidence, candidates, ranking, answer.

Each function takes the value before it and returns the next; nothing is kept. ``Service`` chooses the system and saves answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from revelio.catalog.candidates import not_asked
from revelio.errors import NotFoundError, SourceError
from revelio.ranker.no_fault import short_history, supported
from revelio.ranker.rank_change import RankChange
from revelio.ranker.recommender import RankedCandidates, Recommender
from revelio.service.request import RecommendRequest
from revelio.support.telemetry import Workers, traced
from revelio.systems.recorded_system import RecordedSystem
from revelio.systems.system import System
from revelio.systems.window import NamedTime, choose_window, collect_evidence
from revelio.types import Finding, Incident, Query, RankedQuery, Recommendation, Result

AnySystem = System | RecordedSystem

RUN_AT_ONCE = 4
"""So many queries of one question run side by side."""


def recommend(request: RecommendRequest, system: AnySystem, model: Recommender) -> Recommendation:
    """The ranked queries of a valid request, with texts and links, and the results of the first ``request.run``."""
    asked = NamedTime.of(request.report, request.time, request.zone, time.time())
    window = choose_window(asked, system)
    observed = collect_evidence(window, system)
    incident = system.incident(request.report, observed.evidence)
    answer = replace(answer_incident(incident, model, request.k), time=observed.time)
    return run_first(with_texts(answer, system), request.run, system)


def answer_incident(incident: Incident, model: Recommender, k: int = 5) -> Recommendation:
    """The ``k`` most probable queries about a report whose evidence is at hand, without texts and links."""
    began = time.perf_counter()
    candidates = list_candidates(incident, model)
    ranking = rank(incident, candidates, model, k)
    return compose_answer(incident, candidates, ranking, model.model, time.perf_counter() - began)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The queries that can be asked about an incident, and a sentence on each group of those that cannot."""

    queries: tuple[Query, ...]
    not_asked: tuple[str, ...] = ()


def list_candidates(incident: Incident, model: Recommender) -> Candidates:
    """The incident's own candidates, else catalog x inventory, and what could not be asked and why."""
    left_out = (*not_asked(model.catalog, incident.evidence), *short_history(incident.evidence))
    return Candidates(model.candidates(incident), left_out)


def rank(incident: Incident, candidates: Candidates, model: Recommender, k: int) -> RankedCandidates:
    """The ``k`` most probable candidates with reasons. "No fault" is claimed as far as the evidence supports it."""
    ranking = model.rank(incident, candidates.queries, k)
    return replace(ranking, no_fault_probability=supported(ranking.no_fault_probability, incident.evidence))


def compose_answer(
    incident: Incident, candidates: Candidates, ranking: RankedCandidates, model: str, seconds: float
) -> Recommendation:
    """The answer as one value. A source that did not answer is named in ``degraded``."""
    return Recommendation(
        incident=incident,
        queries=ranking.queries,
        no_fault_probability=ranking.no_fault_probability,
        model=model,
        degraded=incident.evidence.missing,
        took_ms=seconds * 1000.0,
        not_asked=candidates.not_asked,
        report_effect=ranking.report_effect,
    )


def with_texts(answer: Recommendation, system: AnySystem) -> Recommendation:
    """The answer whose queries have text, link and source in the languages of the system's backends."""
    return replace(answer, queries=tuple(render(q, answer.incident, system) for q in answer.queries))


def render(ranked: RankedQuery, incident: Incident, system: AnySystem) -> RankedQuery:
    """The query with its text, link and source."""
    query, evidence = ranked.query, incident.evidence
    return replace(ranked, text=system.render(query, evidence), link=system.link(query, evidence), source=system.source(query))


@dataclass(frozen=True, slots=True)
class Reranking:
    """An answer re-ranked with results, and how the rank of each of its queries changed."""

    recommendation: Recommendation
    rank_changes: tuple[RankChange, ...]


def rerank(answer: Recommendation, k: int, system: AnySystem, model: Recommender) -> Reranking:
    """The answer re-ranked with the results of its queries; other queries can move into the first ``k``."""
    began = time.perf_counter()
    findings = tuple(
        Finding(q.query.template.id, q.query.bindings, q.result.signal) for q in answer.queries if q.result and q.answered
    )
    incident = replace(answer.incident, findings=findings)
    ranking, rank_changes = model.rerank(incident, answer.queries, k)
    known = {q.query.id for q in answer.queries}
    queries = tuple(q if q.query.id in known else render(q, incident, system) for q in ranking.queries)
    no_fault = supported(ranking.no_fault_probability, incident.evidence) if findings else answer.no_fault_probability
    took_ms = (time.perf_counter() - began) * 1000.0
    changed = replace(
        answer, incident=incident, queries=queries, no_fault_probability=no_fault, model=model.model, took_ms=took_ms
    )
    return Reranking(changed, rank_changes)


def run_first(answer: Recommendation, count: int, system: AnySystem) -> Recommendation:
    """The answer with the results of its first ``count`` queries. A source that fails to answer one joins ``degraded``."""
    chosen = choose_first(answer.queries, count)
    if not chosen:
        return answer
    silent = set(answer.degraded)
    ran = {q.query.id: q for q in run_queries(chosen, answer.incident, system, silent.add)}
    queries = tuple(ran.get(q.query.id, q) for q in answer.queries)
    return replace(answer, queries=queries, degraded=tuple(sorted(silent)))


def choose_first(queries: Sequence[RankedQuery], count: int) -> tuple[RankedQuery, ...]:
    """The first ``count`` without a result, in their order; those that failed come after those that were never run."""
    waiting = [q for q in queries if not q.answered]
    return tuple(sorted(waiting, key=lambda q: q.result is not None)[:count])


def run_queries(
    queries: Sequence[RankedQuery], incident: Incident, system: AnySystem, silent: Callable[[str], object] = lambda source: None
) -> tuple[RankedQuery, ...]:
    """The queries with their results, or why there is none, run side by side. ``silent`` takes sources that do not answer."""

    def run_one(ranked: RankedQuery) -> RankedQuery:
        try:
            return replace(ranked, result=run_query(ranked.query, incident, system))
        except (SourceError, NotFoundError) as error:
            if isinstance(error, SourceError):
                silent(error.source)
            return replace(ranked, result=Result.failed(str(error)))

    with Workers(min(RUN_AT_ONCE, len(queries)), thread_name_prefix="run") as pool:
        return tuple(pool.map(run_one, queries))


@traced("revelio.run")
def run_query(query: Query, incident: Incident, system: AnySystem) -> Result:
    """Run any query in an incident's window, live or from its recording; ``SourceError`` when the backend fails."""
    return system.run(query, incident.evidence)
