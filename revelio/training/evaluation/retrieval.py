"""How good retrieval is: whether the nearest past incident had the same cause, and whether a text finds its query."""

from __future__ import annotations

import hashlib
import json
import lzma
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from revelio.catalog import Catalog
from revelio.encoders.report import Floats, TextEncoder
from revelio.errors import DatasetError
from revelio.retrieval import IncidentVectors, Item
from revelio.retrieval.faiss_index import FaissIndex
from revelio.retrieval.imported_questions import ImportedQuestions, lexical_index, words
from revelio.systems.incidents.dataset import Dataset
from revelio.training.evaluation.metrics import mean_interval
from revelio.training.evaluation.runner import CONTROLS, Progress, case
from revelio.types import Evidence, Incident, Origin, Query, QueryTemplate, Recommendation, Window

AMONG = ("all", "system", "others")
"""Which past incidents are searched: all, those of the same system, those of other systems."""
_LARGEST_RUN = 50
_CUT = 10
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class NearestCause:
    """The share of incidents of a split whose nearest past incident had the same cause (fault kind), with a 95 % interval."""

    split: str
    method: str
    among: str
    incidents: int
    same_cause: float
    ci95: tuple[float, float]


@dataclass(frozen=True, slots=True)
class FoundQueries:
    """nDCG at 10 of the queries that belong to a text, among all queries of its part."""

    part: str
    method: str
    texts: int
    queries: int
    ndcg10: float


@dataclass(frozen=True, slots=True)
class _Past:
    """One incident: its first report, the vectors of both, and what the answer said first."""

    id: str
    system: str
    run: str
    split: str
    cause: str
    report: str
    said: Floats
    vector: Floats
    suspect: frozenset[str]
    title: str


def nearest_causes(
    dataset: Dataset,
    catalog: Catalog,
    recommend: Callable[[Incident], Recommendation],
    vectors: IncidentVectors,
    progress: Progress = lambda what, done, total: None,
) -> tuple[NearestCause, ...]:
    """Each incident with a fault against all others, except those of its own run; by split of the incident asked about.

    Methods: ``retrieval`` as served, ``report`` by the report's vector alone, ``bm25`` by its words, and ``scan``, which compares
    words, suspect and first query within the system, as earlier versions did.
    """
    past = list(_past(dataset, catalog, recommend, vectors, progress))
    if not past:
        raise DatasetError(f"{dataset.folder}: no incident with a fault")
    scores: dict[str, Callable[[], Matrix]] = {
        "retrieval": lambda: _by_index(past),
        "report": lambda: np.stack([p.said for p in past]) @ np.stack([p.said for p in past]).T,
        "bm25": lambda: _by_words(past),
        "scan": lambda: _by_scan(past),
    }
    found = []
    for method, score in scores.items():
        matrix = score()
        for among in AMONG:
            same = _same(past, matrix, among)
            for split in dict.fromkeys(p.split for p in past):
                values = np.array([s for p, s in zip(past, same, strict=True) if p.split == split])
                found.append(NearestCause(split, method, among, len(values), float(values.mean()), mean_interval(values)))
    return tuple(found)


def found_queries(pairs: Path, text: TextEncoder) -> tuple[FoundQueries, ...]:
    """Texts against the bodies of the queries that show them; a query has neither title nor description.

    Half of the subjects (``about``), by hash, is the part on which the method was chosen; the other half is the test.
    ``pairs`` is JSON Lines with ``text``, ``query`` and ``about``, packed by xz or not; ``DatasetError`` when it is missing or
    something else.
    """
    parts: dict[str, list[dict[str, str]]] = {"chosen_on": [], "test": []}
    for pair in _pairs(pairs):
        odd = int(hashlib.sha256(pair["about"].encode()).hexdigest(), 16) % 2
        parts["test" if odd else "chosen_on"].append(pair)
    return tuple(figure for part, some in parts.items() if some for figure in _found(part, some, text))


def _past(
    dataset: Dataset,
    catalog: Catalog,
    recommend: Callable[[Incident], Recommendation],
    vectors: IncidentVectors,
    progress: Progress,
) -> Iterator[_Past]:
    labelled = [x for x in dataset.read() if x.record.fault and x.split != CONTROLS]
    for done, one in enumerate(labelled):
        progress("rank incidents", done, len(labelled))
        incident = case(one, catalog).examples[0].incident
        answer = recommend(incident)
        first = answer.queries[0].query if answer.queries else None
        yield _Past(
            id=incident.id,
            system=incident.system,
            run=one.record.run or incident.id,
            split=one.split,
            cause=one.record.fault.kind if one.record.fault else "",
            report=incident.report,
            said=vectors.text.encode([incident.report])[0],
            vector=vectors.vector(answer),
            suspect=frozenset(v for _, v in first.bindings) if first else frozenset(),
            title=first.title if first else "",
        )
    progress("rank incidents", len(labelled), len(labelled))


def _same(past: Sequence[_Past], scores: Matrix, among: str) -> list[float]:
    """Whether the best-scored other incident had the same cause; 0 where there is none."""
    system, run = np.array([p.system for p in past]), np.array([p.run for p in past])
    cause = np.array([p.cause for p in past])
    same = []
    for i, p in enumerate(past):
        allowed = (run != p.run) & np.isfinite(scores[i])
        if among != "all":
            allowed &= (system == p.system) if among == "system" else (system != p.system)
        best = int(np.where(allowed, scores[i], -np.inf).argmax())
        same.append(float(allowed.any() and cause[best] == p.cause))
    return same


def _by_index(past: Sequence[_Past]) -> Matrix:
    """What the engine gives for each incident; what it does not give is far."""
    place = {p.id: i for i, p in enumerate(past)}
    scores = np.full((len(past), len(past)), -np.inf, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        index = FaissIndex(Path(folder) / "incidents", "evaluation", len(past[0].vector))
        index.rebuild(Item(p.id, p.vector, p.system) for p in past)
        for i, p in enumerate(past):
            for only in ({"inside": p.system}, {"outside": p.system}):
                for hit in index.search(p.vector, _LARGEST_RUN, **only):
                    scores[i, place[hit.id]] = hit.score
    return scores


def _by_words(past: Sequence[_Past]) -> Matrix:
    index = lexical_index([p.report for p in past])
    asked = [sorted(set(words(p.report)) & index.vocab_dict.keys()) for p in past]
    none = np.zeros(len(past), dtype=np.float32)
    return np.stack([index.get_scores(some) if some else none for some in asked])


def _by_scan(past: Sequence[_Past]) -> Matrix:
    """Jaccard of the reports' longer words, a half for the same suspect, 0.3 for the same first query; one system only."""
    said = [{w for w in words(p.report) if len(w) > 3} for p in past]
    scores = np.full((len(past), len(past)), -np.inf, dtype=np.float32)
    for i, p in enumerate(past):
        for j, other in enumerate(past):
            if other.system == p.system:
                shared = len(said[i] & said[j]) / max(1, len(said[i] | said[j]))
                scores[i, j] = shared + 0.5 * bool(p.suspect & other.suspect) + 0.3 * (p.title == other.title)
    return scores


def _pairs(path: Path) -> Iterator[dict[str, str]]:
    try:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
            for line in file:
                pair = json.loads(line)
                yield {name: str(pair[name]) for name in ("text", "query", "about")}
    except (OSError, ValueError, KeyError, TypeError, lzma.LZMAError) as error:
        raise DatasetError(f"{path}: no pairs of texts and queries can be read here: {error!r}") from error


def _found(part: str, pairs: Sequence[dict[str, str]], text: TextEncoder) -> Iterator[FoundQueries]:
    bodies = sorted({pair["query"] for pair in pairs})
    place = {body: i for i, body in enumerate(bodies)}
    wanted: dict[str, set[int]] = defaultdict(set)
    for pair in pairs:
        wanted[pair["text"]].add(place[pair["query"]])
    queries = tuple(
        Query(QueryTemplate(f"imported.{i}", "prometheus", "", "", b, origin=Origin(""))) for i, b in enumerate(bodies)
    )
    corpus, retrieval = ImportedQuestions(text).corpus(queries), ImportedQuestions(text)
    nothing = Evidence(Window(0.0, 1.0), Window(0.0, 1.0))
    gains: dict[str, list[float]] = defaultdict(list)
    for said, right in wanted.items():
        vector = text.encode([said])[0]
        both = retrieval.scores(Incident("", "", said, 1.0, nothing), queries, vector)
        gains["retrieval"].append(ndcg(np.zeros(len(queries)) if both is None else both, right))
        gains["bm25"].append(ndcg(corpus.lexical_scores(said), right))
        gains["cosine"].append(ndcg(corpus.dense @ vector, right))
    for method, values in gains.items():
        yield FoundQueries(part, method, len(wanted), len(queries), float(np.mean(values)))


def ndcg(scores: NDArray[np.floating], right: set[int], cut: int = _CUT) -> float:
    """Normalised discounted cumulative gain of the first ``cut``; equal scores stay in the order given."""
    first = np.argsort(-scores, kind="stable")[:cut].tolist()
    gain = sum(1.0 / np.log2(rank + 2) for rank, i in enumerate(first) if i in right)
    return float(gain / sum(1.0 / np.log2(rank + 2) for rank in range(min(len(right), cut))))
