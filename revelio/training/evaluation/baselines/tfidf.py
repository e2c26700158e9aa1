"""Report only, trained: tf-idf and logistic regression rank templates, mentioned names rank targets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from revelio.support.extras import extras_for
from revelio.training.evaluation.baselines.words import words
from revelio.training.evaluation.method import Example, Scores, from_logits
from revelio.types import Incident, Query

_NOTHING = "(nothing)"
_UNSEEN = 1e-4
"""Probability of a template that training never saw."""


class TfIdf:
    """P(template | report) by logistic regression, uniform over the targets, mentioned ones first."""

    name = "tfidf_logistic"

    def __init__(self) -> None:
        """Untrained."""
        self._model: Any = None

    def fit(self, examples: Sequence[Example]) -> None:
        """One sample for each accepted template of each report; incidents without any are the class for abstaining."""
        with extras_for("the tf-idf baseline"):
            from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415  only training set-ups have it
            from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
            from sklearn.pipeline import make_pipeline  # noqa: PLC0415
        texts, classes, weights = [], [], []
        for example in examples:
            right = sorted({q.template.id for q in example.best})
            if not right and example.grades.any():
                continue
            for label in right or [_NOTHING]:
                texts.append(example.incident.report)
                classes.append(label)
                weights.append(1.0 / max(1, len(right)))
        if len(set(classes)) < 2:
            return
        self._model = make_pipeline(
            TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)), LogisticRegression(C=10.0, max_iter=1000)
        )
        self._model.fit(texts, classes, logisticregression__sample_weight=np.array(weights))

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """Uniform over templates if training had fewer than two."""
        known: dict[str, float] = {}
        if self._model is not None:
            known = dict(zip(self._model.classes_, self._model.predict_proba([incident.report])[0], strict=True))
        places = Counter(q.template.id for q in queries)
        said = set(words(incident.report))
        logits = [
            math.log(max(known.get(q.template.id, 0.0), _UNSEEN) / places[q.template.id])
            + sum(w in said for _, v in q.bindings for w in words(v))
            for q in queries
        ]
        return from_logits(np.array(logits), known.get(_NOTHING, 0.5))
