"""Joins the workbench and the store: what pages and API have in common."""

from __future__ import annotations

from dataclasses import dataclass

from revelio.errors import CatalogError, RevelioError, SourceError
from revelio.incidents.recorded import RecordedIncident
from revelio.store import Feedback, HistoryEntry, SavedAnswer, Store, Verdict
from revelio.types import RankedQuery, Result
from revelio.workbench import Workbench
from webui.figures import Figures

ABSTAINS = 0.5
"""From this probability on that nothing points at a fault, the page says so first."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asks: a report about either a live system or a recorded incident."""

    report: str
    system: str | None = None
    incident: str | None = None
    k: int = 5
    run: bool = False
    opened_at: float | None = None


class Desk:
    """Asks, keeps and finds again. Safe to share between threads. Raises what workbench and store raise."""

    def __init__(self, bench: Workbench, store: Store, figures: Figures) -> None:
        """The store is open already; the workbench opens what it needs when it needs it."""
        self.bench = bench
        self.store = store
        self.figures = figures

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
        labels = (_yes(bool(answer.degraded)), _yes(answer.abstain >= ABSTAINS))
        self.figures.recommendations.labels(*labels).inc()
        return self.store.save(answer, recorded=question.incident)

    def answer(self, answer_id: str) -> SavedAnswer:
        """A kept answer."""
        return self.store.load(answer_id)

    def run(self, answer_id: str, query_id: str) -> Result:
        """Run one query of a kept answer in that answer's own window, and keep the result."""
        answer = self.store.load(answer_id).recommendation
        tool = next((q.query.template.tool for q in answer.queries if q.query.id == query_id), "unknown")
        try:
            result = self.bench.run(answer, query_id)
        except SourceError:
            self.figures.runs.labels(tool, "failed").inc()
            raise
        self.figures.runs.labels(tool, "done").inc()
        self.store.save_result(answer_id, query_id, result)
        return result

    def feedback(self, answer_id: str, query_id: str | None, verdict: Verdict, note: str = "") -> Feedback:
        """Keep what a person said; on disk when this returns."""
        kept = self.store.add_feedback(answer_id, query_id, verdict, note)
        self.figures.feedback.labels(verdict).inc()
        return kept

    def history(self, limit: int = 50, before: float | None = None) -> tuple[HistoryEntry, ...]:
        """The latest answers."""
        return self.store.history(limit, before)

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
