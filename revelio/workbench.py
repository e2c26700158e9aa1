"""Everything that a page, the API, the command line or a bot needs: ask, get ranked queries, run them."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from dataclasses import replace

from revelio.catalog import Catalog, bundled_catalog, load_catalog
from revelio.errors import ArtifactError, InvalidInputError, NotFoundError, SourceError
from revelio.incidents.recorded import RecordedIncident, RecordedIncidents
from revelio.ranker.artifact import load_manifest
from revelio.ranker.versions import Versions, pointer_mark
from revelio.recommender import Recommender, Reranking, load_recommender
from revelio.settings import Settings
from revelio.systems import AnySystem, RecordedSystem, System, open_system
from revelio.telemetry import Workers, traced
from revelio.types import Finding, Incident, Query, RankedQuery, Recommendation, Result

log = logging.getLogger(__name__)

MAX_K = 50
NOT_RUN = "not run: "
"""How the summary of a result begins that only says why there is none."""


class Workbench:
    """Joins the model, the live systems and the recorded incidents. Safe to share between threads."""

    def __init__(self, settings: Settings, *, recommender: Recommender | None = None) -> None:
        """Nothing is loaded or connected until it is needed."""
        self.settings = settings
        self.incidents = RecordedIncidents(settings.incidents)
        self._recommender = recommender
        self._given = recommender is not None
        self._mark: tuple[int, int] | None = None
        self._version_trouble = ""
        self._catalog: Catalog | None = None
        self._open: dict[str, System] = {}
        self._lock = threading.RLock()

    @property
    def catalog(self) -> Catalog:
        """The catalog of the settings; ``CatalogError`` when a file of it is wrong."""
        with self._lock:
            if self._catalog is None:
                self._catalog = load_catalog(*self.settings.catalog) if self.settings.catalog else bundled_catalog()
            return self._catalog

    @property
    def recommender(self) -> Recommender:
        """The loaded model in the version that is in force; ``ArtifactError`` each time that it cannot be loaded.

        Another version takes over with the next question, whichever process named it.
        """
        with self._lock:
            if self._given and self._recommender is not None:
                return self._recommender
            mark = pointer_mark(self.settings.learning.folder)
            if self._recommender is None or mark != self._mark:
                loaded = self._recommender or load_recommender(self.settings.model, self.catalog)
                self._recommender, self._version_trouble = self._in_force(loaded)
                self._mark = mark
            return self._recommender

    @property
    def version_trouble(self) -> str:
        """Why the version that was named does not answer, so that the base model does; "" where nothing is wrong."""
        return self._version_trouble

    def versions(self) -> Versions:
        """The versions of the model; ``ArtifactError`` when the base model cannot be read."""
        return Versions(self.settings.learning.folder, load_manifest(self.settings.model))

    def _in_force(self, loaded: Recommender) -> tuple[Recommender, str]:
        """What was learnt is an addition: where it is damaged, the base model answers, and what is wrong is told."""
        versions = self.versions()
        name = versions.current()
        try:
            head, trouble = versions.head(name), ""
        except (ArtifactError, NotFoundError) as error:
            name, head, trouble = versions.base.name, None, str(error)
            log.warning("the model %s answers without what it learnt: %s", name, error)
        return loaded.with_head(head, name), trouble

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the live systems."""
        return tuple(sorted(self.settings.systems))

    def recorded(self) -> tuple[RecordedIncident, ...]:
        """The recorded incidents on offer."""
        return self.incidents.list()

    def system(self, name: str) -> System:
        """A live system; ``NotFoundError`` names those there are."""
        if name not in self.settings.systems:
            there = ", ".join(self.systems) or "none; add one under [systems] in revelio.toml"
            raise NotFoundError(f"no system {name!r}; there are: {there}")
        with self._lock:
            if name not in self._open:
                self._open[name] = open_system(name, self.settings.systems[name], self.catalog, self.settings.timeout_s)
            return self._open[name]

    def close(self) -> None:
        """Give up connections and threads to the backends of live systems; they are opened anew when needed."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    @traced("revelio.recommend")
    def recommend(
        self,
        report: str,
        *,
        system: str | None = None,
        incident: str | None = None,
        k: int = 5,
        run: bool = False,
        opened_at: float | None = None,
    ) -> Recommendation:
        """Look (or recall), rank, and fill in native text and links; with ``run`` also the results of the ``k`` queries.

        Raises ``InvalidInputError`` for an unusable report, ``NotFoundError`` for an unknown system or incident. A source
        that does not answer is named in ``degraded``; it is no error.
        """
        report = self._usable(report, k)
        if (system is None) == (incident is None):
            raise InvalidInputError("name either a live system or a recorded incident")
        recommender = self.recommender
        if incident is not None:
            asked = self.incidents.get(incident).incident(report)
        else:
            moment = opened_at if opened_at is not None else time.time()
            evidence = self.system(system or "").snapshot(moment)
            asked = Incident(f"live-{uuid.uuid4().hex[:12]}", system or "", report, moment, evidence)
        answer = recommender.recommend(asked, k)
        place = self._where(asked)
        ranked = tuple(self._written(place, asked, q) for q in answer.queries)
        if not run:
            return replace(answer, queries=ranked)
        silent = set(answer.degraded)
        with Workers(max_workers=4) as pool:
            ranked = tuple(pool.map(lambda q: self._with_result(place, asked, q, silent), ranked))
        return replace(answer, queries=ranked, degraded=tuple(sorted(silent)))

    def rerank(self, answer: Recommendation, k: int) -> Reranking:
        """The answer in the order of what its queries showed that were run, with others that these bring among the first ``k``.

        Raises ``ArtifactError`` or ``CatalogError`` where there is no usable model.
        """
        findings = tuple(
            Finding(q.query.template.id, q.query.bindings, q.result.signal) for q in answer.queries if q.result and was_run(q)
        )
        asked = replace(answer.incident, findings=findings)
        anew = self.recommender.rerank(asked, answer.queries, k)
        place, there = self._where(asked), {q.query.id for q in answer.queries}
        queries = tuple(q if q.query.id in there else self._written(place, asked, q) for q in anew.recommendation.queries)
        no_fault = anew.recommendation.no_fault_probability if findings else answer.no_fault_probability
        recommendation = replace(anew.recommendation, queries=queries, no_fault_probability=no_fault, degraded=answer.degraded)
        return replace(anew, recommendation=recommendation)

    def find(self, answer: Recommendation, query_id: str) -> RankedQuery:
        """A query that could be asked about the answer's incident, ranked as if nothing had been run.

        ``NotFoundError`` when there is none of that id.
        """
        incident = answer.incident
        return self._written(self._where(incident), incident, self.recommender.find(incident, query_id))

    def run(self, recommendation: Recommendation, query_id: str) -> Result:
        """Run one of its queries; ``SourceError`` when the backend fails, ``NotFoundError`` when the query is not in it."""
        for ranked in recommendation.queries:
            if ranked.query.id == query_id:
                return self.run_query(recommendation.incident, ranked.query)
        there = ", ".join(q.query.id for q in recommendation.queries)
        raise NotFoundError(f"no query {query_id!r} in this recommendation; there are: {there}")

    @traced("revelio.run")
    def run_query(self, incident: Incident, query: Query) -> Result:
        """Run any query in an incident's window, live or from its recording."""
        return self._where(incident).run(query, incident.evidence)

    def _where(self, incident: Incident) -> AnySystem:
        if incident.id in self.incidents.ids():
            return RecordedSystem(self.incidents.get(incident.id), self.catalog, self.settings.systems.get(incident.system))
        return self.system(incident.system)

    def _usable(self, report: str, k: int) -> str:
        text = report.strip()
        if not text:
            raise InvalidInputError("the report is empty; say in a sentence what a user noticed")
        if len(text) > self.settings.max_report_chars:
            raise InvalidInputError(
                f"the report has {len(text):,} characters, at most {self.settings.max_report_chars:,} are read; shorten it"
            )
        if "\x00" in text:
            raise InvalidInputError("the report holds NUL bytes, so it is not text; paste it as plain text")
        if not 1 <= k <= MAX_K:
            raise InvalidInputError(f"k is {k}; ask for 1 to {MAX_K} queries")
        return text

    def _written(self, place: AnySystem, incident: Incident, ranked: RankedQuery) -> RankedQuery:
        evidence = incident.evidence
        return replace(ranked, text=place.render(ranked.query, evidence), link=place.link(ranked.query, evidence))

    @traced("revelio.run")
    def _with_result(self, place: AnySystem, incident: Incident, ranked: RankedQuery, silent: set[str]) -> RankedQuery:
        """With what running it showed; a source that does not answer joins ``silent``."""
        try:
            return replace(ranked, result=place.run(ranked.query, incident.evidence))
        except (SourceError, NotFoundError) as error:
            if isinstance(error, SourceError):
                silent.add(error.source)
            return replace(ranked, result=Result(summary=f"{NOT_RUN}{error}", signal=0.0, reason=str(error)))


def was_run(query: RankedQuery) -> bool:
    """Whether a backend answered it: a run that failed leaves only its reason."""
    return query.result is not None and not query.result.summary.startswith(NOT_RUN)
