"""Lexical retrieval (Robertson and Zaragoza, 2009): the report is the query, the candidates are the documents."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from revelio.evaluation.baselines.words import query_words, words
from revelio.evaluation.method import Example, Scores, from_logits
from revelio.types import Incident, Query

K1, B = 1.5, 0.75


class Bm25:
    """Okapi BM25 over the candidates of each incident."""

    name = "bm25"

    def fit(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """A softmax over BM25; it abstains the more, the less the best candidate has in common with the report."""
        documents = [Counter(query_words(q)) for q in queries]
        if not documents:
            return from_logits(np.zeros(0), 1.0)
        lengths = np.array([sum(d.values()) for d in documents], dtype=float)
        norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
        total = np.zeros(len(documents))
        for word in set(words(incident.report)):
            counts = np.array([d[word] for d in documents], dtype=float)
            with_it = int((counts > 0).sum())
            if with_it:
                rarity = math.log(1 + (len(documents) - with_it + 0.5) / (with_it + 0.5))
                total += rarity * counts * (K1 + 1) / (counts + norm)
        return from_logits(total, 1.0 / (1.0 + float(total.max())))
