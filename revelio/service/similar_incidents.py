"""Past incidents like this one whose cause people found: the index is kept in step with the store."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlalchemy.engine import make_url

from revelio.errors import NotFoundError, SourceError, StoreError
from revelio.ranker.recommender import Recommender
from revelio.retrieval import Hit, Item, VectorIndex
from revelio.settings import Settings
from revelio.settings.retrieval import RetrievalSettings
from revelio.store import Store
from revelio.store.causes import KnownCause
from revelio.types import Recommendation

log = logging.getLogger(__name__)

Scope = Literal["system", "others", "all"]
"""Where to look: in the same system, in all others, or in both."""
LEAST = 0.5
"""Below this cosine incidents have another cause more often than not (training split)."""
_PATIENCE_S = 0.5
"""Seconds that a question waits for incidents that are not in the index yet; the rest is indexed by later ones."""
_BATCH = 50


@dataclass(frozen=True, slots=True)
class SimilarIncident:
    """A past answer, its cause in words ("" where nobody wrote it down) and the query that showed it ("" where none is known).

    ``saved_at`` in Unix seconds, ``similarity`` a cosine.
    """

    id: str
    system: str
    saved_at: float
    report: str
    cause: str
    query: str
    query_text: str
    tool: str
    similarity: float


class SimilarIncidents:
    """Finds past answers with a known cause. Safe to share between threads."""

    def __init__(self, settings: Settings, store: Callable[[], Store], recommender: Callable[[], Recommender]) -> None:
        """Nothing is opened or loaded before it is needed; without a known cause, nothing is loaded at all."""
        self._settings, self._store, self._recommender = settings, store, recommender
        self._lock = threading.RLock()
        self._index: VectorIndex | None = None
        self._key = ""
        self._revision = ""

    def find(
        self, answer: Recommendation, *, own: str = "", k: int = 3, scope: Scope = "all", patience_s: float = _PATIENCE_S
    ) -> tuple[SimilarIncident, ...]:
        """The ``k`` most similar ones, best first; ``own`` is the id of the answer itself.

        An index that cannot be reached finds nothing, which is logged: similar incidents come on top of an answer.
        """
        system = answer.incident.system
        try:
            index = self._refreshed(time.monotonic() + patience_s)
            if index is None:
                return ()
            vector = self._recommender().incident_vectors.vector(answer)
            inside, outside = (system if scope == "system" else None), (system if scope == "others" else None)
            hits = index.search(vector, k + 1, inside=inside, outside=outside)
        except SourceError as error:
            log.warning("similar incidents cannot be found: %s", error)
            return ()
        near = [hit for hit in hits if hit.id != own and hit.score >= LEAST][:k]
        causes = self._store().causes.of([hit.id for hit in near]) if near else {}
        return tuple(found for hit in near if hit.id in causes for found in self._told(hit, causes[hit.id]))

    def refresh(self) -> None:
        """Index every incident with a known cause that is not indexed yet."""
        try:
            while self._refreshed(0.0) is not None and self._revision != self._store().causes.revision():
                time.sleep(0)  # questions that wait for the lock go first
        except SourceError as error:
            log.warning("past incidents cannot be indexed: %s", error)

    def rebuild(self, progress: Callable[[str, int, int], None] = lambda what, done, total: None) -> int:
        """Index all incidents with a known cause again, and return how many. Meanwhile searches find what was there.

        Raises ``SourceError`` when the index cannot be reached.
        """
        known = self._store().causes.known()
        index = self._opened()

        def items() -> Iterator[Item]:
            for done, name in enumerate(known):
                progress("index past incidents", done, len(known))
                yield from self._items([name])
            progress("index past incidents", len(known), len(known))

        index.rebuild(items())
        return len(index.ids())

    def close(self) -> None:
        """Save the index, and let go of connections."""
        with self._lock:
            if self._index is not None:
                self._index.close()
            self._index, self._revision = None, ""

    def _refreshed(self, deadline: float) -> VectorIndex | None:
        """The index, after indexing what there was time for, newest first; None where no cause is known."""
        causes = self._store().causes
        with self._lock:
            revision = causes.revision()
            if self._index is not None and revision == self._revision and self._key == self._model():
                return self._index
            known = causes.known()
            if not known and self._index is None:
                return None
            index = self._opened()
            there = index.ids()
            gone, missing = there - frozenset(known), [name for name in known if name not in there]
            if gone:
                index.remove(gone)
            for start in range(0, len(missing), _BATCH):
                if start and time.monotonic() >= deadline:
                    return index
                index.add(self._items(missing[start : start + _BATCH]))
            self._revision = revision
            return index

    def _opened(self) -> VectorIndex:
        with self._lock:
            key = self._model()
            if self._index is None or key != self._key:
                self.close()
                self._index, self._key = open_index(self._settings, key, self._recommender().incident_vectors.dimension), key
            return self._index

    def _model(self) -> str:
        """The name of the base model: what a version learned from feedback changes no vector."""
        return self._recommender().model.partition(".")[0]

    def _items(self, ids: Sequence[str]) -> Iterator[Item]:
        vectors = self._recommender().incident_vectors
        for name in ids:
            try:
                answer = self._store().load(name).as_given
            except (NotFoundError, StoreError) as error:
                log.warning("%s is left out of similar incidents: %s", name, error)
                continue
            yield Item(name, vectors.vector(answer), answer.incident.system)

    def _told(self, hit: Hit, cause: KnownCause) -> Iterator[SimilarIncident]:
        try:
            saved = self._store().load(hit.id)
        except NotFoundError:  # forgotten meanwhile
            return
        answer = saved.recommendation
        shown = next((q for q in answer.queries if q.query.id == cause.query_id), None)
        yield SimilarIncident(
            id=hit.id,
            system=answer.incident.system,
            saved_at=saved.saved_at,
            report=answer.incident.report,
            cause=cause.words,
            query=shown.query.title if shown else "",
            query_text=shown.text if shown else "",
            tool=(shown.source or shown.query.template.tool) if shown else "",
            similarity=round(hit.score, 4),
        )


def open_index(settings: Settings, key: str, dimension: int) -> VectorIndex:
    """The index of past incidents in the engine of the settings; engines are imported when they are opened."""
    retrieval = settings.retrieval
    if retrieval.engine == "elasticsearch":
        from revelio.retrieval.elasticsearch_index import ElasticsearchIndex  # noqa: PLC0415  a second to import

        return ElasticsearchIndex(retrieval, key, dimension, settings.timeout_s)
    from revelio.retrieval.faiss_index import FaissIndex  # noqa: PLC0415

    return FaissIndex(index_folder(retrieval, settings.database) / "incidents.faiss", key, dimension)


def index_folder(retrieval: RetrievalSettings, database: str) -> Path:
    """Where faiss's index is: beside the file of an SQLite store."""
    address = make_url(database)
    beside = Path(address.database).parent if address.get_backend_name() == "sqlite" and address.database else Path("var")
    return retrieval.folder or beside / "retrieval"
