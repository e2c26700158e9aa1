"""Joins the workbench and the store: what pages and API have in common."""

from __future__ import annotations

import time
from dataclasses import dataclass

from revelio.errors import CatalogError, NotFoundError, RevelioError, SourceError
from revelio.incidents.recorded import RecordedIncident
from revelio.recommender import Reranking
from revelio.store import Feedback, HistoryEntry, SavedAnswer, Store, Verdict
from revelio.store.history import Found, Search, search_history
from revelio.telemetry import Workers, traced
from revelio.types import Evidence, RankedQuery, Result
from revelio.workbench import NOT_RUN, Workbench, was_run
from webui.accounts.who import acting
from webui.figures import Figures
from webui.health import HealthBoard


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks: a report about either a live system or a recorded incident."""

    report: str
    system: str | None = None
    incident: str | None = None
    k: int = 5
    run: bool = False
    opened_at: float | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the tools last saw of a system: live just now, for an answer, or for a recorded incident."""

    at: float
    evidence: Evidence
    answer: str | None = None
    recorded: str | None = None


class Desk:
    """Asks, keeps and finds again. Safe to share between threads. Raises what workbench and store raise."""

    def __init__(self, bench: Workbench, store: Store, figures: Figures) -> None:
        """The store is open already; the workbench opens what it needs when it needs it."""
        self.bench = bench
        self.store = store
        self.figures = figures
        self.health = HealthBoard(bench)

    def ask(self, question: Question) -> SavedAnswer:
        """Rank, and keep the answer."""
        answer = self.bench.recommend(
            question.report,
            system=question.system,
            incident=question.incident,
            k=question.k,
            run=question.run,
            opened_at=question.opened_at,
        )
        labels = (_yes(bool(answer.degraded)), _yes(answer.no_fault_likely))
        self.figures.recommendations.labels(*labels).inc()
        return self.store.save(answer, recorded=question.incident)

    def answer(self, answer_id: str) -> SavedAnswer:
        """A kept answer."""
        return self.store.load(answer_id)

    def run(self, answer_id: str, query_id: str) -> Result:
        """Run a query in the window of a kept answer, and keep the result.

        One that is not among the answer's own, as results can bring it up, joins them.
        """
        answer = self._holding(answer_id, query_id).recommendation
        tool = next((q.query.template.tool for q in answer.queries if q.query.id == query_id), "unknown")
        try:
            result = self.bench.run(answer, query_id)
        except SourceError:
            self.figures.runs.labels(tool, "failed").inc()
            raise
        self.figures.runs.labels(tool, "done").inc()
        self.store.save_result(answer_id, query_id, result)
        return result

    @traced("revelio.run_first")
    def reranked(self, saved: SavedAnswer) -> Reranking:
        """A kept answer in the order of what its queries showed; as it is where none was run."""
        return self.bench.rerank(saved.recommendation, saved.given)

    def run_first(self, answer_id: str, count: int, *, by_evidence: bool = False) -> None:
        """Run the first ``count`` queries at once and keep what each showed, or why it was not run.

        With ``by_evidence`` those that come next after what was run. A failure replaces no earlier result.
        """
        saved = self.store.load(answer_id)
        queries = self.reranked(saved).recommendation.queries if by_evidence else saved.recommendation.queries
        first = [q for q in queries if not (by_evidence and was_run(q))][:count]

        def run_one(ranked: RankedQuery) -> None:
            try:
                self.run(answer_id, ranked.query.id)
            except (SourceError, NotFoundError) as error:
                if not was_run(ranked):
                    self._holding(answer_id, ranked.query.id)
                    failed = Result(summary=f"{NOT_RUN}{error}", signal=0.0, reason=str(error))
                    self.store.save_result(answer_id, ranked.query.id, failed)

        if first:
            with Workers(max_workers=len(first), thread_name_prefix="run") as pool:
                tuple(pool.map(run_one, first))

    def feedback(self, answer_id: str, query_id: str | None, verdict: Verdict, note: str = "") -> Feedback:
        """Keep what a person said; on disk when this returns. A query that results brought up joins the answer."""
        if query_id is not None:
            self._holding(answer_id, query_id)
        kept = self.store.add_feedback(answer_id, query_id, verdict, note, by=acting())
        self.figures.feedback.labels(verdict).inc()
        return kept

    def _holding(self, answer_id: str, query_id: str) -> SavedAnswer:
        """The answer, with that query in it; ``NotFoundError`` where it cannot be asked."""
        saved = self.store.load(answer_id)
        if any(q.query.id == query_id for q in saved.recommendation.queries):
            return saved
        self.store.join(answer_id, self.bench.find(saved.recommendation, query_id))
        return self.store.load(answer_id)

    def history(self, limit: int = 50, before: float | None = None) -> tuple[HistoryEntry, ...]:
        """The latest answers."""
        return self.store.history(limit, before)

    def search(self, wanted: Search, limit: int, offset: int) -> Found:
        """Earlier answers that match."""
        return search_history(self.store, wanted, limit=limit, offset=offset)

    def last_seen(self, system: str) -> Sighting | None:
        """The latest evidence about a system, from its answers and its recorded incidents; None where there is none."""
        seen = [Sighting(r.opened_at, self.bench.incidents.get(r.id).evidence, recorded=r.id) for r in self._of(system)[-1:]]
        for found in search_history(self.store, Search(system=system, live_only=True), limit=1).answers:
            incident = self.store.load(found.entry.id).recommendation.incident
            seen.append(Sighting(incident.opened_at, incident.evidence, answer=found.entry.id))
        return max((s for s in seen if s.evidence.entities), key=lambda s: s.at, default=None)

    def look(self, system: str) -> Sighting:
        """What the tools of a live system see at this moment."""
        at = time.time()
        return Sighting(at, self.bench.system(system).snapshot(at))

    def _of(self, system: str) -> tuple[RecordedIncident, ...]:
        return tuple(r for r in self.recorded() if r.system == system)

    def recorded(self) -> tuple[RecordedIncident, ...]:
        """The recorded incidents on offer, oldest first."""
        return self.bench.recorded()

    def tool_title(self, ranked: RankedQuery) -> str:
        """The tool's name for people; its plain name when the catalog does not have it."""
        name = ranked.query.template.tool
        try:
            return next((t.title for t in self.bench.catalog.tools if t.name == name), name)
        except CatalogError:
            return name

    def troubles(self) -> tuple[str, ...]:
        """What keeps the service from answering, in words; empty when it is ready."""
        found = []
        for check in (self._model, self.store.ping, self.bench.incidents.ids):
            try:
                check()
            except RevelioError as error:
                found.append(str(error))
        self.figures.ready.set(0 if found else 1)
        return tuple(found)

    def _model(self) -> str:
        return self.bench.recommender.model


def _yes(it_is: bool) -> str:
    return "yes" if it_is else "no"
