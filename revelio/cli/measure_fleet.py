"""Measures how candidates of a large fleet are chosen: 5,000 components with 200 questions each, a million candidates."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import islice, product
from typing import Any

import numpy as np

from revelio.cli.measure import Figure
from revelio.encoders.report import Floats
from revelio.errors import RevelioError
from revelio.retrieval.fleet import NameIndex, index_names
from revelio.service import Service

COMPONENTS, QUESTIONS = 5_000, 200
WANTED, AMONG = 10, 50
MOST_MISSED, MOST_SEARCH_TIMES = 0.02, 1.2
_REPORTS = 200
_LISTS, _PROBED, _TRAINED = 1024, 8, 60_000
_WORDS = (
    *(
        "cart",
        "checkout",
        "payment",
        "ledger",
        "stock",
        "search",
        "mail",
        "profile",
        "quote",
        "route",
        "image",
        "review",
        "coupon",
    ),
    *("invoice", "session", "token", "ticket", "booking", "fare", "seat", "refund", "report", "alert", "queue", "cache"),
)
_PARTS = ("api", "worker", "gateway", "db", "sync", "export", "feed", "index")


def measure_fleet(service: Service, progress: Callable[[str, int, int], None]) -> tuple[Figure, ...]:
    """The share of the exact ranking's first ten that is missed, and the time of a search relative to an index of all candidates.

    The exact ranking is by the similarity of the report with question and component, over all candidates. The bare index is
    faiss's IVF (1024 lists, 16-bit) over one vector for each candidate, searching as many lists as it needs to miss no more.
    """
    words = service.recommender.ranker.encoder.words
    if words is None:
        raise RevelioError("this model has no word vectors to find components by; measure with another model")
    reports = [text for item in service.recorded() for text in item.reports] or ["it is slow"]
    asked = words.encode(list(islice((f"{a} {b}" for a, b in product(("", *_WORDS), reports)), _REPORTS)))
    asked = asked[asked.any(axis=1)]
    names = [f"{a}-{b}-{n:03d}" for n, a, b in product(range(COMPONENTS), _WORDS, _PARTS)][:COMPONENTS]
    templates = service.catalog.templates
    questions = words.encode([templates[i % len(templates)].title for i in range(QUESTIONS)])
    ours, components = index_names(names, words), words.encode([name.replace("-", " ") for name in names])
    bare = _bare_index(questions, components, progress)
    exact = [_least(questions, components, report) for report in asked]
    # An index that misses more answers sooner: what is compared has to find as much.
    while bare.nprobe < _LISTS and _missed_by(bare, asked, exact) > MOST_MISSED:
        bare.nprobe *= 2
    missed, mine, its = [], [], []
    for done, (report, least) in enumerate(zip(asked, exact, strict=True)):
        progress("search a million candidates", done, len(asked))
        began = time.perf_counter()
        found = _search(ours, questions, report)
        mine.append(time.perf_counter() - began)
        missed.append(_missed(found, least))
        twice = _twice(report)
        began = time.perf_counter()
        bare.search(twice, AMONG)
        its.append(time.perf_counter() - began)
    progress("search a million candidates", len(asked), len(asked))
    share, one, other = statistics.mean(missed), 1000.0 * statistics.median(mine), 1000.0 * statistics.median(its)
    detail = (
        f"of the exact first {WANTED} among {AMONG} found, {len(questions) * len(components):,} candidates, {len(asked)} reports"
    )
    times = f"median {one:.2f} ms, faiss over all candidates {other:.2f} ms ({bare.nprobe} lists)"
    return (
        Figure("fleet: candidates missed", share, "", MOST_MISSED, share <= MOST_MISSED, detail),
        Figure("fleet: search / bare index", one / other, "x", MOST_SEARCH_TIMES, one / other <= MOST_SEARCH_TIMES, times),
    )


def _least(questions: Floats, components: Floats, report: Floats) -> float:
    """The score of the last of the exact first ones."""
    scores = (questions @ report)[:, None] + (components @ report)[None]
    return float(np.partition(scores.ravel(), -WANTED)[-WANTED])


def _twice(report: Floats) -> Floats:
    return np.asarray(np.concatenate([report, report])[None] / np.sqrt(2.0), dtype=np.float32)


def _missed_by(index: Any, asked: Floats, exact: list[float]) -> float:
    found = [2.0 * index.search(_twice(report), AMONG)[0][0] for report in asked]
    return statistics.mean(map(_missed, found, exact))


def _missed(found: Floats, least: float) -> float:
    """The share that is missed; of candidates with equal scores any is as good (16 bits tell 1e-3 apart)."""
    return 1.0 - min(WANTED, int((found >= least - 1e-3).sum())) / WANTED


def _search(names: NameIndex, questions: Floats, report: Floats) -> Floats:
    """The scores of the ``AMONG`` best candidates, by the nearest names."""
    near = np.array([score for _, score in names.nearest(report, AMONG)], dtype=np.float32)
    best = np.partition(questions @ report, -AMONG)[-AMONG:]
    return np.asarray(np.partition((best[:, None] + near[None]).ravel(), -AMONG)[-AMONG:])


def _bare_index(questions: Floats, components: Floats, progress: Callable[[str, int, int], None]) -> Any:
    import faiss

    size = questions.shape[1] + components.shape[1]
    index: Any = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(size), size, _LISTS, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
    )
    rng = np.random.default_rng(0)
    some = _joined(questions[rng.integers(0, len(questions), _TRAINED)], components[rng.integers(0, len(components), _TRAINED)])
    index.train(some)
    for done, question in enumerate(questions):
        progress("index a million candidates", done, len(questions))
        index.add(_joined(np.broadcast_to(question, components.shape), components))
    index.nprobe = _PROBED
    return index


def _joined(questions: Floats, components: Floats) -> Floats:
    return np.ascontiguousarray(np.concatenate([questions, components], axis=1) / np.float32(np.sqrt(2.0)))
