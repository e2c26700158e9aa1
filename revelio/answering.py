"""Answers questions about live systems and recorded incidents; keeps nothing."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import replace

from revelio.active_model import ActiveModel
from revelio.catalog import Catalog
from revelio.deadline import end, until
from revelio.errors import CatalogError, NotFoundError, SourceError
from revelio.incidents.recorded import RecordedIncident, RecordedIncidents
from revelio.question_time import QuestionTime
from revelio.question_window import look
from revelio.recommend_request import RecommendRequest
from revelio.recommender import Recommender, Reranking
from revelio.recorded_system import RecordedSystem
from revelio.settings import Settings
from revelio.systems import System, open_system
from revelio.telemetry import Workers, traced
from revelio.types import Finding, Incident, Query, RankedQuery, Recommendation, Result

AnySystem = System | RecordedSystem

DEADLINES = 2
"""A question, from looking to its last result, takes as many times the setting ``timeout_s`` at most."""


class Answering:
    """Joins model, live systems and recorded incidents. Safe to share between threads."""

    def __init__(self, settings: Settings, *, recommender: Recommender | None = None) -> None:
        """Nothing is loaded or connected until it is needed."""
        self.settings = settings
        self.model = ActiveModel(settings, recommender=recommender)
        self.incidents = RecordedIncidents(settings.incidents)
        self._open: dict[str, System] = {}
        self._lock = threading.RLock()

    @property
    def catalog(self) -> Catalog:
        """The catalog of the settings; ``CatalogError`` when one of its files is wrong."""
        return self.model.catalog

    @property
    def recommender(self) -> Recommender:
        """The model that answers now; ``ArtifactError`` each time that it cannot be loaded."""
        return self.model.recommender

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the live systems."""
        return tuple(sorted(self.settings.systems))

    def default_system(self, *preferred: str) -> str:
        """The first preference that is not empty, else the only live system; "" when neither exists."""
        named = next((name for name in preferred if name), "")
        return named or (self.systems[0] if len(self.systems) == 1 else "")

    def system(self, name: str) -> System:
        """A live system; ``NotFoundError`` lists those that exist."""
        if name not in self.settings.systems:
            there = ", ".join(self.systems) or "none; add one under [systems] in revelio.toml"
            raise NotFoundError(f"no system {name!r}; there are: {there}")
        with self._lock:
            if name in self._open and self._open[name].catalog is not self.catalog:
                self._open.pop(name).close()  # questions were imported since
            if name not in self._open:
                self._open[name] = open_system(name, self.settings.systems[name], self.catalog, self.settings.timeout_s)
            return self._open[name]

    def recorded(self) -> tuple[RecordedIncident, ...]:
        """The recorded incidents, oldest first."""
        return self.incidents.list()

    def close(self) -> None:
        """Close connections to backends; ``system`` opens them again when needed."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    @traced("revelio.recommend")
    def rank(self, request: RecommendRequest) -> Recommendation:
        """Snapshot the system (or take the recording), rank, and render text and links; with ``run`` also run the queries.

        Saves nothing. Raises ``InvalidInputError`` for an unusable request, ``NotFoundError`` for an unknown system or
        incident. A source that does not answer is named in ``degraded``; it is no error. So is one for which no time was left:
        everything together takes ``DEADLINES`` times the setting ``timeout_s`` at most.
        """
        request = request.validated(self.settings.max_report_chars)
        with until(end(DEADLINES * self.settings.timeout_s)):
            return self._rank(request)

    def _rank(self, request: RecommendRequest) -> Recommendation:
        recommender = self.recommender
        chosen = QuestionTime()
        if request.incident is not None:
            incident = self.incidents.get(request.incident).incident(request.report)
        else:
            name = request.system or ""
            seen = look(self.system(name), request, time.time())
            chosen = seen.time
            incident = Incident(f"live-{uuid.uuid4().hex[:12]}", name, request.report, seen.opened_at, seen.evidence)
        answer = replace(recommender.recommend(incident, request.k), time=chosen)
        place = self._system_of(incident)
        ranked = tuple(_rendered(place, incident, q) for q in answer.queries)
        if not request.run:
            return replace(answer, queries=ranked)
        silent = set(answer.degraded)
        with Workers(max_workers=4) as pool:
            ranked = tuple(pool.map(lambda q: _with_result(place, incident, q, silent), ranked))
        return replace(answer, queries=ranked, degraded=tuple(sorted(silent)))

    def rerank(self, answer: Recommendation, k: int) -> Reranking:
        """The answer re-ranked with the results of its queries; other queries can move into the first ``k``.

        Raises ``ArtifactError`` or ``CatalogError`` when no model is usable.
        """
        findings = tuple(
            Finding(q.query.template.id, q.query.bindings, q.result.signal) for q in answer.queries if q.result and q.answered
        )
        incident = replace(answer.incident, findings=findings)
        reranking = self.recommender.rerank(incident, answer.queries, k)
        place, known = self._system_of(incident), {q.query.id for q in answer.queries}
        ranked = reranking.recommendation
        queries = tuple(q if q.query.id in known else _rendered(place, incident, q) for q in ranked.queries)
        no_fault = ranked.no_fault_probability if findings else answer.no_fault_probability
        return replace(
            reranking,
            recommendation=replace(
                ranked,
                queries=queries,
                no_fault_probability=no_fault,
                degraded=answer.degraded,
                not_asked=answer.not_asked,
                report_effect=answer.report_effect,
                time=answer.time,
            ),
        )

    def find(self, answer: Recommendation, query_id: str) -> RankedQuery:
        """Any candidate query of the answer's incident, ranked as if nothing had been run; ``NotFoundError`` when absent."""
        incident = answer.incident
        return _rendered(self._system_of(incident), incident, self.recommender.find(incident, query_id))

    @traced("revelio.run")
    def run_query(self, incident: Incident, query: Query) -> Result:
        """Run any query in an incident's window, live or from its recording; ``SourceError`` when the backend fails."""
        return self._system_of(incident).run(query, incident.evidence)

    def tool_title(self, ranked: RankedQuery) -> str:
        """The display name of what answers it: of its source, else of its tool, whose plain name stands in where it has none."""
        name = ranked.query.template.tool
        if ranked.source:
            return ranked.source
        try:
            return next((t.title for t in self.catalog.tools if t.name == name), name)
        except CatalogError:
            return name

    def _system_of(self, incident: Incident) -> AnySystem:
        if incident.id in self.incidents.ids():
            return RecordedSystem(self.incidents.get(incident.id), self.catalog, self.settings.systems.get(incident.system))
        return self.system(incident.system)


def _rendered(place: AnySystem, incident: Incident, ranked: RankedQuery) -> RankedQuery:
    evidence = incident.evidence
    query = ranked.query
    return replace(ranked, text=place.render(query, evidence), link=place.link(query, evidence), source=place.source(query))


@traced("revelio.run")
def _with_result(place: AnySystem, incident: Incident, ranked: RankedQuery, silent: set[str]) -> RankedQuery:
    """With its result; a source that does not answer joins ``silent``."""
    try:
        return replace(ranked, result=place.run(ranked.query, incident.evidence))
    except (SourceError, NotFoundError) as error:
        if isinstance(error, SourceError):
            silent.add(error.source)
        return replace(ranked, result=Result.failed(str(error)))
