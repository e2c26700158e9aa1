"""The application service: what the page, the API, Slack, alerts, MCP and the command line all call."""

from __future__ import annotations

import logging
import threading
from functools import cached_property
from typing import TYPE_CHECKING

from revelio.catalog import Catalog
from revelio.errors import ArtifactError, CatalogError, NotFoundError, RevelioError, SourceError
from revelio.ranker.recommender import Recommender
from revelio.service import pipeline
from revelio.service.active_model import ActiveModel
from revelio.service.pipeline import AnySystem, Reranking
from revelio.service.request import RecommendRequest
from revelio.settings import Settings
from revelio.support.current_actor import current_actor
from revelio.support.deadline import end, until
from revelio.support.progress import stop_if_cancelled
from revelio.support.telemetry import traced
from revelio.systems.health import HealthMonitor
from revelio.systems.incidents.recorded import RecordedIncident, RecordedIncidents
from revelio.systems.recorded_system import RecordedSystem
from revelio.systems.sources import unconnected
from revelio.systems.system import System, open_system
from revelio.types import Incident, Query, RankedQuery, Recommendation, Result

if TYPE_CHECKING:
    from revelio.service.similar_incidents import Scope, SimilarIncident, SimilarIncidents
    from revelio.store import Feedback, SavedAnswer, Store, Verdict
    from revelio.support.metrics import Metrics

log = logging.getLogger(__name__)

DEADLINES = 2
"""A question, from its first snapshot to its last result, takes as many times the setting ``timeout_s`` at most."""


class Service:
    """Answers questions and keeps the answers, with results and feedback. Safe to share between threads.

    What needs no stored answer loads no database.
    """

    def __init__(self, settings: Settings, *, recommender: Recommender | None = None, store: Store | None = None) -> None:
        """Nothing is loaded, connected or opened until it is needed; ``store`` is one that is open already."""
        self.settings = settings
        self.model = ActiveModel(settings, recommender=recommender)
        self.incidents = RecordedIncidents(settings.incidents)
        self.health = HealthMonitor(self.system)
        self._open: dict[str, System] = {}
        self._lock = threading.RLock()
        if store is not None:
            self.store = store

    @cached_property
    def metrics(self) -> Metrics:
        """Counts of answers, runs and feedback."""
        from revelio.support.metrics import Metrics  # noqa: PLC0415  a single question is not counted

        return Metrics()

    @cached_property
    def store(self) -> Store:
        """Answers, feedback, accounts; ``StoreError`` when the database cannot be opened."""
        from revelio.store import Store  # noqa: PLC0415  half a second to import

        return Store(self.settings.database, masked=self.settings.mask)

    @cached_property
    def similar_incidents(self) -> SimilarIncidents:
        """Past incidents whose cause is known."""
        from revelio.service.similar_incidents import SimilarIncidents  # noqa: PLC0415  needs the store

        return SimilarIncidents(self.settings, lambda: self.store, lambda: self.recommender)

    def close(self) -> None:
        """Close the store and the connections to backends; ``system`` opens backends again when needed."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()
        for name in ("similar_incidents", "store"):
            if name in self.__dict__:
                getattr(self, name).close()

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

    def recommend(self, request: RecommendRequest) -> SavedAnswer:
        """Rank, and save the answer. Raises what ``rank`` raises, ``CancelledError``, and ``StoreError``."""
        answer = self.rank(request)
        stop_if_cancelled()
        self.metrics.recommendations.labels(_yes(bool(answer.degraded)), _yes(answer.no_fault_likely)).inc()
        saved = self.store.save(answer, recorded=request.incident)
        if any(q.answered for q in answer.queries):
            self._note_outcome(saved)
        return saved

    @traced("revelio.recommend")
    def rank(self, request: RecommendRequest) -> Recommendation:
        """The ranked queries of a request, about a live system or a recording. Saves nothing.

        Raises ``InvalidInputError`` for an unusable request, ``NotFoundError`` for an unknown system or incident. A source that
        does not answer is named in ``degraded``; it is no error. So is one for which no time was left: everything together
        takes ``DEADLINES`` times the setting ``timeout_s`` at most.
        """
        request = request.validated(self.settings.max_report_chars)
        with until(end(DEADLINES * self.settings.timeout_s)):
            model, system = self.recommender, self._system(request.system or "", request.incident)
            return pipeline.recommend(request, system, model)

    def rerank(self, answer: Recommendation, k: int) -> Reranking:
        """The answer re-ranked with the results of its queries; other queries can move into the first ``k``.

        Raises ``ArtifactError`` or ``CatalogError`` when no model is usable.
        """
        return pipeline.rerank(answer, k, self.system_of(answer.incident), self.recommender)

    def find(self, answer: Recommendation, query_id: str) -> RankedQuery:
        """Any candidate query of the answer's incident, ranked as if nothing had been run; ``NotFoundError`` when absent."""
        incident = answer.incident
        return pipeline.render(self.recommender.find(incident, query_id), incident, self.system_of(incident))

    def run_query(self, incident: Incident, query: Query) -> Result:
        """Run any query in an incident's window, live or from its recording; ``SourceError`` when the backend fails."""
        return pipeline.run_query(query, incident, self.system_of(incident))

    def answer(self, answer_id: str) -> SavedAnswer:
        """A saved answer, with the results and feedback added since."""
        return self.store.load(answer_id)

    def run(self, saved: SavedAnswer, query_id: str) -> SavedAnswer:
        """The saved answer with the result of one of its queries, or of one that it could have had, which joins it.

        Raises ``SourceError`` when the backend fails, ``NotFoundError`` when there is no such query or recording.
        """
        saved = self._with_query(saved, query_id)
        query = saved.ranked(query_id).query
        try:
            result = self.run_query(saved.recommendation.incident, query)
        except SourceError:
            self.metrics.runs.labels(query.template.tool, "failed").inc()
            raise
        return self._keep(saved, {query_id: result})

    def run_first(self, saved: SavedAnswer, count: int, *, reranked: bool = True) -> SavedAnswer:
        """The saved answer with the results of its first ``count`` queries without one, or why there is none.

        With ``reranked`` in re-ranked order, in which queries can join.
        """
        answer = saved.recommendation
        queries = self.rerank(answer, saved.given).recommendation.queries if reranked else answer.queries
        chosen = pipeline.choose_first(queries, count)
        if not chosen:
            return saved
        for ranked in chosen:
            saved = self._with_query(saved, ranked.query.id)
        with until(end(DEADLINES * self.settings.timeout_s)):
            ran = pipeline.run_queries(chosen, answer.incident, self.system_of(answer.incident))
        return self._keep(saved, {q.query.id: q.result for q in ran if q.result is not None})

    def feedback(self, answer_id: str, query_id: str | None, verdict: Verdict, note: str = "") -> Feedback:
        """Save a verdict, on disk when this returns. A query that re-ranking brought up joins the answer."""
        if query_id is not None:
            self._with_query(self.store.load(answer_id), query_id)
        said = self.store.add_feedback(answer_id, query_id, verdict, note, by=current_actor())
        self.metrics.feedback.labels(verdict).inc()
        return said

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
        return self.similar_incidents.find(saved.as_given, own=saved.id, k=k, scope=scope)

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
            request = RecommendRequest(one.report, incident=one.id)
            answer = self.rank(RecommendRequest(one.report, incident=one.id, run=request.k))
            self.rerank(answer, len(answer.queries))

    def system_of(self, incident: Incident) -> AnySystem:
        """The system that an incident is about: its recording, or the live one."""
        return self._system(incident.system, incident.id if incident.id in self.incidents.ids() else None)

    def _system(self, name: str, recorded: str | None) -> AnySystem:
        if recorded is None:
            return self.system(name)
        record = self.incidents.get(recorded)
        return RecordedSystem(record, self.catalog, self.settings.systems.get(record.system))

    def _with_query(self, saved: SavedAnswer, query_id: str) -> SavedAnswer:
        """The answer, with that query in it; ``NotFoundError`` when it is no candidate of the incident."""
        if any(q.query.id == query_id for q in saved.recommendation.queries):
            return saved
        self.store.join(saved.id, self.find(saved.recommendation, query_id))
        return self.store.refresh(saved)

    def _keep(self, saved: SavedAnswer, results: dict[str, Result]) -> SavedAnswer:
        """Save results; the answer comes back with everybody's results so far."""
        for query_id, result in results.items():
            ran = "failed" if result.error else "done"
            self.metrics.runs.labels(saved.ranked(query_id).query.template.tool, ran).inc()
            self.store.save_result(saved.id, query_id, result)
        saved = self.store.refresh(saved)
        self._note_outcome(saved)
        return saved

    def _note_outcome(self, saved: SavedAnswer) -> None:
        """Lists of answers say what the answer says, results included."""
        try:
            self.store.note_outcome(saved.id, self.rerank(saved.recommendation, saved.given).recommendation)
        except (ArtifactError, CatalogError) as error:
            log.warning("%s: its outcome stays as it was given: %s", saved.id, error)


def _yes(it_is: bool) -> str:
    return "yes" if it_is else "no"
