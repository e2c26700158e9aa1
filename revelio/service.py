"""The application service: what the page, the API, Slack, alerts, MCP and the command line all call."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from dataclasses import dataclass, replace
from functools import cached_property

from revelio.active_model import ActiveModel
from revelio.catalog import Catalog
from revelio.current_actor import current_actor
from revelio.deadline import end, until
from revelio.errors import ArtifactError, CatalogError, NotFoundError, RevelioError, SourceError
from revelio.health import HealthMonitor
from revelio.incidents.recorded import RecordedIncident, RecordedIncidents
from revelio.metrics import Metrics
from revelio.question_time import QuestionTime
from revelio.question_window import look
from revelio.recommend_request import RecommendRequest
from revelio.recommender import Recommender, Reranking
from revelio.settings import Settings
from revelio.store import Feedback, HistoryEntry, SavedAnswer, Store, Verdict
from revelio.store.history import Found, Search, search_history
from revelio.systems import AnySystem, RecordedSystem, System, open_system
from revelio.telemetry import Workers, traced
from revelio.types import Evidence, Finding, Incident, Query, RankedQuery, Recommendation, Result

log = logging.getLogger(__name__)

DEADLINES = 2
"""A question, from looking to its last result, takes as many times the setting ``timeout_s`` at most."""


@dataclass(frozen=True, slots=True)
class SystemSnapshot:
    """What the data sources last returned for a system: live just now, for an answer, or for a recorded incident."""

    at: float
    evidence: Evidence
    answer: str | None = None
    recorded: str | None = None


class Service:
    """Joins model, live systems, recorded incidents and store. Safe to share between threads."""

    def __init__(
        self,
        settings: Settings,
        *,
        recommender: Recommender | None = None,
        store: Store | None = None,
    ) -> None:
        """Nothing is loaded, connected or opened until it is needed; ``store`` is one that is open already."""
        self.settings = settings
        self.model = ActiveModel(settings, recommender=recommender)
        self.incidents = RecordedIncidents(settings.incidents)
        self.metrics = Metrics()
        self.health = HealthMonitor(self.system)
        if store is not None:
            self.store = store
        self._open: dict[str, System] = {}
        self._lock = threading.RLock()

    @cached_property
    def store(self) -> Store:
        """Answers, feedback, accounts; ``StoreError`` when the database cannot be opened."""
        return Store(self.settings.database, masked=self.settings.mask)

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
        """Close connections to backends, and the store; ``system`` opens backends again when needed."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()
        if "store" in self.__dict__:
            self.store.close()

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

    def recommend(self, request: RecommendRequest) -> SavedAnswer:
        """Rank, and save the answer. Raises what ``rank`` raises, and ``StoreError``."""
        answer = self.rank(request)
        self.metrics.recommendations.labels(_yes(bool(answer.degraded)), _yes(answer.no_fault_likely)).inc()
        return self.store.save(answer, recorded=request.incident)

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
                ranked, queries=queries, no_fault_probability=no_fault, degraded=answer.degraded, time=answer.time
            ),
        )

    def answer(self, answer_id: str) -> SavedAnswer:
        """A saved answer, with the results and feedback added since."""
        return self.store.load(answer_id)

    def find(self, answer: Recommendation, query_id: str) -> RankedQuery:
        """Any candidate query of the answer's incident, ranked as if nothing had been run; ``NotFoundError`` when absent."""
        incident = answer.incident
        return _rendered(self._system_of(incident), incident, self.recommender.find(incident, query_id))

    @traced("revelio.run")
    def run_query(self, incident: Incident, query: Query) -> Result:
        """Run any query in an incident's window, live or from its recording; ``SourceError`` when the backend fails."""
        return self._system_of(incident).run(query, incident.evidence)

    def run(self, answer_id: str, query_id: str) -> Result:
        """Run a query in the window of a saved answer, and save the result.

        A candidate that is not among the answer's queries, as re-ranking can bring up, joins them.
        """
        answer = self._with_query(answer_id, query_id).recommendation
        query = next(q.query for q in answer.queries if q.query.id == query_id)
        result = self._run_saved(answer_id, answer.incident, query)
        self._note_outcome(answer_id)
        return result

    def _run_saved(self, answer_id: str, incident: Incident, query: Query) -> Result:
        try:
            result = self.run_query(incident, query)
        except SourceError:
            self.metrics.runs.labels(query.template.tool, "failed").inc()
            raise
        self.metrics.runs.labels(query.template.tool, "done").inc()
        self.store.save_result(answer_id, query.id, result)
        return result

    def _note_outcome(self, answer_id: str) -> None:
        """Lists of answers say what the answer says, results included."""
        saved = self.store.load(answer_id)
        try:
            self.store.note_outcome(answer_id, self.rerank(saved.recommendation, saved.given).recommendation)
        except (ArtifactError, CatalogError) as error:
            log.warning("%s: its outcome stays as it was given: %s", answer_id, error)

    def run_first(self, answer_id: str, count: int, *, by_evidence: bool = False) -> None:
        """Run the first ``count`` queries in parallel and save each result, or why there is none.

        With ``by_evidence`` the first that were not run yet, in re-ranked order. A failure replaces no earlier result.
        """
        saved = self.store.load(answer_id)
        answer = saved.recommendation
        queries = self.rerank(answer, saved.given).recommendation.queries if by_evidence else answer.queries
        waiting = [q for q in queries if not (by_evidence and q.answered)]
        # A query that failed is tried again after those that were never run.
        first = sorted(waiting, key=lambda q: by_evidence and q.result is not None)[:count]

        def run_one(ranked: RankedQuery) -> None:
            try:
                incident = self._with_query(answer_id, ranked.query.id).recommendation.incident
                self._run_saved(answer_id, incident, ranked.query)
            except (SourceError, NotFoundError) as error:
                if not ranked.answered:
                    self._with_query(answer_id, ranked.query.id)
                    self.store.save_result(answer_id, ranked.query.id, Result.failed(str(error)))

        if first:
            with until(end(DEADLINES * self.settings.timeout_s)), Workers(len(first), thread_name_prefix="run") as pool:
                tuple(pool.map(run_one, first))
            self._note_outcome(answer_id)

    def feedback(self, answer_id: str, query_id: str | None, verdict: Verdict, note: str = "") -> Feedback:
        """Save a verdict, on disk when this returns. A query that re-ranking brought up joins the answer."""
        if query_id is not None:
            self._with_query(answer_id, query_id)
        saved = self.store.add_feedback(answer_id, query_id, verdict, note, by=current_actor())
        self.metrics.feedback.labels(verdict).inc()
        return saved

    def withdraw_feedback(self, answer_id: str, query_id: str) -> None:
        """Take back what was said about a query."""
        self.store.withdraw_feedback(answer_id, query_id, by=current_actor())

    def resolve(self, answer_id: str, cause: str, query_id: str | None) -> None:
        """Mark the incident of an answer as resolved; the query that showed the cause counts as found."""
        if query_id:
            self.feedback(answer_id, query_id, "found", cause)
        else:
            self.store.load(answer_id)
        self.store.resolutions.resolve(answer_id, cause, query_id, current_actor())

    def history(self, limit: int = 50, before: float | None = None) -> tuple[HistoryEntry, ...]:
        """The latest answers."""
        return self.store.history(limit, before)

    def search(self, wanted: Search, limit: int, offset: int) -> Found:
        """Earlier answers that match."""
        return search_history(self.store, wanted, limit=limit, offset=offset)

    def last_snapshot(self, system: str) -> SystemSnapshot | None:
        """The latest evidence about a system, from its answers and its recorded incidents; None when there is none."""
        recorded = [r for r in self.recorded() if r.system == system]
        seen = [SystemSnapshot(r.opened_at, self.incidents.get(r.id).evidence, recorded=r.id) for r in recorded[-1:]]
        for found in search_history(self.store, Search(system=system, live_only=True), limit=1).answers:
            incident = self.store.load(found.entry.id).recommendation.incident
            seen.append(SystemSnapshot(incident.opened_at, incident.evidence, answer=found.entry.id))
        return max((s for s in seen if s.evidence.entities), key=lambda s: s.at, default=None)

    def snapshot(self, system: str) -> SystemSnapshot:
        """What the data sources of a live system return now."""
        at = time.time()
        return SystemSnapshot(at, self.system(system).snapshot(at))

    def tool_title(self, ranked: RankedQuery) -> str:
        """The display name of what answers it: of its source, else of its tool, whose plain name stands in where it has none."""
        name = ranked.query.template.tool
        if ranked.source:
            return ranked.source
        try:
            return next((t.title for t in self.catalog.tools if t.name == name), name)
        except CatalogError:
            return name

    def troubles(self) -> tuple[str, ...]:
        """What keeps the service from answering, in words; empty when it is ready."""
        found = []
        for check in (lambda: self.recommender.model, self.store.ping, self.incidents.ids):
            try:
                check()
            except RevelioError as error:
                found.append(str(error))
        self.metrics.ready.set(0 if found else 1)
        return tuple(found)

    def _with_query(self, answer_id: str, query_id: str) -> SavedAnswer:
        """The answer, with that query in it; ``NotFoundError`` when it is no candidate of the incident."""
        saved = self.store.load(answer_id)
        if any(q.query.id == query_id for q in saved.recommendation.queries):
            return saved
        self.store.join(answer_id, self.find(saved.recommendation, query_id))
        return self.store.load(answer_id)

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


def _yes(it_is: bool) -> str:
    return "yes" if it_is else "no"
