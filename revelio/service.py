"""The application service: what the page, the API, Slack, alerts, MCP and the command line all call."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import cached_property

from revelio.answering import DEADLINES, Answering
from revelio.current_actor import current_actor
from revelio.deadline import end, until
from revelio.errors import ArtifactError, CatalogError, NotFoundError, RevelioError, SourceError
from revelio.health import HealthMonitor
from revelio.metrics import Metrics
from revelio.progress import stop_if_cancelled
from revelio.recommend_request import RecommendRequest
from revelio.recommender import Recommender
from revelio.settings import Settings
from revelio.similar_incidents import Scope, SimilarIncident, SimilarIncidents, given
from revelio.sources import unconnected
from revelio.store import Feedback, HistoryEntry, SavedAnswer, Store, Verdict
from revelio.store.history import Found, Search, search_history
from revelio.telemetry import Workers
from revelio.types import Evidence, Incident, Query, RankedQuery, Result

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SystemSnapshot:
    """What the data sources last returned for a system: live just now, for an answer, or for a recorded incident."""

    at: float
    evidence: Evidence
    answer: str | None = None
    recorded: str | None = None


class Service(Answering):
    """Answers questions and keeps the answers, with results and feedback. Safe to share between threads."""

    def __init__(
        self,
        settings: Settings,
        *,
        recommender: Recommender | None = None,
        store: Store | None = None,
    ) -> None:
        """Nothing is loaded, connected or opened until it is needed; ``store`` is one that is open already."""
        super().__init__(settings, recommender=recommender)
        self.metrics = Metrics()
        self.health = HealthMonitor(self.system)
        self.similar_incidents = SimilarIncidents(settings, lambda: self.store, lambda: self.recommender)
        if store is not None:
            self.store = store

    @cached_property
    def store(self) -> Store:
        """Answers, feedback, accounts; ``StoreError`` when the database cannot be opened."""
        return Store(self.settings.database, masked=self.settings.mask)

    def close(self) -> None:
        """Close connections to backends, and the store; ``system`` opens backends again when needed."""
        super().close()
        self.similar_incidents.close()
        if "store" in self.__dict__:
            self.store.close()

    def recommend(self, request: RecommendRequest) -> SavedAnswer:
        """Rank, and save the answer. Raises what ``rank`` raises, ``CancelledError``, and ``StoreError``."""
        answer = self.rank(request)
        stop_if_cancelled()
        self.metrics.recommendations.labels(_yes(bool(answer.degraded)), _yes(answer.no_fault_likely)).inc()
        return self.store.save(answer, recorded=request.incident)

    def answer(self, answer_id: str) -> SavedAnswer:
        """A saved answer, with the results and feedback added since."""
        return self.store.load(answer_id)

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

    def similar(self, saved: SavedAnswer, k: int = 3, scope: Scope = "all") -> tuple[SimilarIncident, ...]:
        """Past incidents like that of a saved answer whose cause is known, most similar first."""
        return self.similar_incidents.find(given(saved), own=saved.id, k=k, scope=scope)

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

    def warm_up(self) -> None:
        """Load what the first question would wait for: the model, the tools, and the candidates of every system recorded.

        Nothing is saved, and no backend is asked. What is wrong, ``troubles`` says.
        """
        if self.troubles():
            return
        for name in self.systems:
            self.system(name)
        self.similar_incidents.refresh()
        latest = {r.system: r for r in self.recorded() if r.report}
        for tool in self.catalog.tools if latest else ():
            unconnected(self.catalog, tool.name)
        for one in latest.values():
            answer = self.rank(RecommendRequest(one.report, incident=one.id, run=True))
            self.rerank(answer, len(answer.queries))

    def _with_query(self, answer_id: str, query_id: str) -> SavedAnswer:
        """The answer, with that query in it; ``NotFoundError`` when it is no candidate of the incident."""
        saved = self.store.load(answer_id)
        if any(q.query.id == query_id for q in saved.recommendation.queries):
            return saved
        self.store.join(answer_id, self.find(saved.recommendation, query_id))
        return self.store.load(answer_id)


def _yes(it_is: bool) -> str:
    return "yes" if it_is else "no"
