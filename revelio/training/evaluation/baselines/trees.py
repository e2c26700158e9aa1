"""Evidence only, trained: gradient-boosted trees over the features of each candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revelio.catalog import Catalog
from revelio.encoders.query import COMPONENT, NEIGHBOURS, OWN, RARITY, EncodedIncident, QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.support.extras import extras_for
from revelio.training.evaluation.method import Example, Scores, from_weights
from revelio.types import Incident, Query

COLUMNS = (*(n for n in OWN if n not in RARITY), *COMPONENT, *(f"from_{c}" for c in COMPONENT), *NEIGHBOURS)
_WORST = COLUMNS.index("worst")
WRONG_KEPT = 60
"""Wrong candidates per incident: so many with the largest deviations, and as many at random.

Without the latter, trees rank candidates without data first, because they never saw one be wrong.
"""


class CandidateFeatures:
    """The features of candidates that depend on no name and on no report."""

    def __init__(self, catalog: Catalog) -> None:
        """The catalog has the noise floor of each metric."""
        noise = {m.name: m.noise_floor for tool in catalog.tools for m in tool.metrics}
        self._text = HashingEncoder()
        self._encoder = QueryEncoder(self._text, {}, noise)

    def of(self, incident: Incident, queries: tuple[Query, ...]) -> NDArray[np.float64]:
        """``[N, len(COLUMNS)]``."""
        encoded: EncodedIncident = self._encoder.encode(incident, queries, self._text.encode([""])[0])
        return np.stack([encoded.feature(name) for name in COLUMNS], axis=1).astype(np.float64)


def kept_rows(flat: NDArray[np.float64], good: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """The candidates to learn from: the good ones, and wrong ones as ``WRONG_KEPT`` says."""
    unusual = np.argsort(-flat[:, _WORST] - 1e-3 * rng.random(len(flat)))
    return np.union1d(np.flatnonzero(good), np.append(unusual[:WRONG_KEPT], rng.permutation(len(flat))[:WRONG_KEPT]))


class BoostedTrees:
    """P(shows the cause | features, template), normalised over the candidates. It does not use the report."""

    name = "boosted_trees"

    def __init__(self, catalog: Catalog) -> None:
        """Untrained. The catalog has the noise floor of each metric and the templates."""
        self._features = CandidateFeatures(catalog)
        self._number = {t.id: float(i) for i, t in enumerate(catalog.templates)}
        self._model: Any = None

    def fit(self, examples: Sequence[Example]) -> None:
        """Each incident once, independent of its reports."""
        with extras_for("the baseline of boosted trees"):
            from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415  only training set-ups have it
        rng = np.random.default_rng(0)
        rows, right = [], []
        for example in {e.incident.id: e for e in examples}.values():
            flat = self._flat(example.incident, example.queries)
            good = example.grades == 3
            kept = kept_rows(flat, good, rng)
            rows.append(flat[kept])
            right.append(good[kept])
        labels = np.concatenate(right) if right else np.zeros(0)
        if labels.any() and not labels.all():
            self._model = HistGradientBoostingClassifier(max_iter=200, learning_rate=0.06, l2_regularization=1.0, random_state=0)
            self._model.fit(np.concatenate(rows), labels)

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """Uniform without training examples."""
        if self._model is None or not queries:
            return from_weights(np.ones(len(queries)), 0.5)
        chance = self._model.predict_proba(self._flat(incident, queries))[:, 1]
        return from_weights(chance, float(1.0 - chance.max()))

    def _flat(self, incident: Incident, queries: tuple[Query, ...]) -> NDArray[np.float64]:
        """``[N, features + 1]``; the last column is the number of the template."""
        number = np.array([self._number.get(q.template.id, -1.0) for q in queries])
        return np.append(self._features.of(incident, queries), number[:, None], axis=1)
