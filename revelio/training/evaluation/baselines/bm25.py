"""Lexical retrieval (Robertson and Zaragoza, 2009): the report is the query, the candidates are the documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revelio.training.evaluation.baselines.words import query_words, words
from revelio.training.evaluation.method import Example, Scores, from_logits
from revelio.types import Incident, Query


class Bm25:
    """Okapi BM25, as bm25s computes it, over the candidates of each incident."""

    name = "bm25"

    def fit(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """A softmax over BM25; the no-fault probability falls with the score of the best candidate."""
        import bm25s  # noqa: PLC0415  imports numba where it is installed, which takes seconds

        if not queries:
            return from_logits(np.zeros(0), 1.0)
        index = bm25s.BM25(method="atire", idf_method="lucene", k1=1.5, b=0.75, dtype="float64")
        index.index([query_words(q) for q in queries], show_progress=False)
        said = sorted(set(words(incident.report)))
        total = index.get_scores(said).astype(np.float64) if said else np.zeros(len(queries))
        return from_logits(total, 1.0 / (1.0 + float(total.max())))
