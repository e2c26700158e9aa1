"""How good retrieval is: whether the nearest past incident had the same cause, and whether a text finds its query."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
from revelio.training.alert_texts import AlertText, read_alert_texts
from revelio.training.evaluation.metrics import mean_interval
from revelio.training.evaluation.runner import CONTROLS, Progress, case
from revelio.types import Evidence, Incident, Origin, Query, QueryTemplate, Recommendation, Window

AMONG = ("all", "system", "others")
"""Which past incidents are searched: all, those of the same system, those of other systems."""
_LARGEST_RUN = 50
_CUT = 10
OTHER = ", other encoder"
"""Ends the names of methods that use the second report encoder."""
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
    """One incident: its first report, the vectors of both by each encoder, and what the answer said first."""

    id: str
    system: str
    run: str
    split: str
    cause: str
    report: str
    said: tuple[Floats, ...]
    vector: tuple[Floats, ...]
    suspect: frozenset[str]
    title: str


def nearest_causes(
    dataset: Dataset,
    catalog: Catalog,
    recommend: Callable[[Incident], Recommendation],
    vectors: IncidentVectors,
    progress: Progress = lambda what, done, total: None,
    other: IncidentVectors | None = None,
) -> tuple[NearestCause, ...]:
    """Each incident with a fault against all others, except those of its own run; by split of the incident asked about.

    Methods: ``retrieval`` as served, ``report`` by the report's vector alone, ``bm25`` by its words, and ``scan``, which compares
    words, suspect and first query within the system, as earlier versions did. With ``other``, the first two by its report
    encoder as well.
    """
    encoders = {"": vectors} | ({OTHER: other} if other else {})
    past = list(_past(dataset, catalog, recommend, tuple(encoders.values()), progress))
    if not past:
        raise DatasetError(f"{dataset.folder}: no incident with a fault")
    scores: dict[str, Callable[[], Matrix]] = {"bm25": lambda: _by_words(past), "scan": lambda: _by_scan(past)}
    for i, name in enumerate(encoders):
        scores[f"retrieval{name}"] = partial(_by_index, [(p.id, p.vector[i], p.system) for p in past])
        scores[f"report{name}"] = partial(_by_cosine, np.stack([p.said[i] for p in past]))
    found = []
    for method, score in scores.items():
        matrix = score()
        for among in AMONG:
            same = _same(past, matrix, among)
            for split in dict.fromkeys(p.split for p in past):
                values = np.array([s for p, s in zip(past, same, strict=True) if p.split == split])
                found.append(NearestCause(split, method, among, len(values), float(values.mean()), mean_interval(values)))
    return tuple(found)


def found_queries(pairs: Path, text: TextEncoder, other: TextEncoder | None = None) -> tuple[FoundQueries, ...]:
    """Texts against the bodies of the queries that show them; a query has neither title nor description.

    Half of the subjects (``about``), by hash, is the part on which the method was chosen, and which encoders may be trained on;
    the other half is the test. Methods: ``bm25``, ``cosine`` of the report encoder, ``retrieval`` as served, which adds both up.
    Raises ``DatasetError`` when ``pairs`` is no file of alerts.
    """
    parts: dict[str, list[AlertText]] = {"chosen_on": [], "test": []}
    for alert in read_alert_texts(pairs):
        parts["test" if alert.held_back else "chosen_on"].append(alert)
    encoders = {"": text} | ({OTHER: other} if other else {})
    return tuple(figure for part, some in parts.items() if some for figure in _found(part, some, encoders))


def _past(
    dataset: Dataset,
    catalog: Catalog,
    recommend: Callable[[Incident], Recommendation],
    vectors: Sequence[IncidentVectors],
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
            said=tuple(one.text.encode([incident.report])[0] for one in vectors),
            vector=tuple(one.vector(answer) for one in vectors),
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


def _by_index(past: Sequence[tuple[str, Floats, str]]) -> Matrix:
    """What the engine gives for each id, vector and system; what it does not give is far."""
    place = {name: i for i, (name, _, _) in enumerate(past)}
    scores = np.full((len(past), len(past)), -np.inf, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        index = FaissIndex(Path(folder) / "incidents", "evaluation", len(past[0][1]))
        index.rebuild(Item(*one) for one in past)
        for i, (_, vector, system) in enumerate(past):
            for only in ({"inside": system}, {"outside": system}):
                for hit in index.search(vector, _LARGEST_RUN, **only):
                    scores[i, place[hit.id]] = hit.score
    return scores


def _by_cosine(said: Matrix) -> Matrix:
    return said @ said.T


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


def _found(part: str, alerts: Sequence[AlertText], encoders: Mapping[str, TextEncoder]) -> Iterator[FoundQueries]:
    bodies = sorted({alert.query for alert in alerts})
    place = {body: i for i, body in enumerate(bodies)}
    wanted: dict[str, set[int]] = defaultdict(set)
    for alert in alerts:
        wanted[alert.text].add(place[alert.query])
    queries = tuple(
        Query(QueryTemplate(f"imported.{i}", "prometheus", "", "", b, origin=Origin(""))) for i, b in enumerate(bodies)
    )
    nothing = Evidence(Window(0.0, 1.0), Window(0.0, 1.0))
    gains: dict[str, list[float]] = defaultdict(list)
    for name, text in encoders.items():
        corpus, retrieval = ImportedQuestions(text).corpus(queries), ImportedQuestions(text)
        for said, right in wanted.items():
            vector = text.encode([said])[0]
            both = retrieval.scores(Incident("", "", said, 1.0, nothing), queries, vector)
            gains[f"retrieval{name}"].append(ndcg(np.zeros(len(queries)) if both is None else both, right))
            gains[f"cosine{name}"].append(ndcg(corpus.dense @ vector, right))
            if not name:
                gains["bm25"].append(ndcg(corpus.lexical_scores(said), right))
    for method, values in gains.items():
        yield FoundQueries(part, method, len(wanted), len(queries), float(np.mean(values)))


def ndcg(scores: NDArray[np.floating], right: set[int], cut: int = _CUT) -> float:
    """Normalised discounted cumulative gain of the first ``cut``; equal scores stay in the order given."""
    first = np.argsort(-scores, kind="stable")[:cut].tolist()
    gain = sum(1.0 / np.log2(rank + 2) for rank, i in enumerate(first) if i in right)
    return float(gain / sum(1.0 / np.log2(rank + 2) for rank in range(min(len(right), cut))))
