"""Evidence only, trained: boosted trees that learn to order the candidates of an incident (LambdaMART; Burges, 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from revelio.catalog import Catalog
from revelio.support.extras import extras_for
from revelio.training.evaluation.baselines.trees import COLUMNS, CandidateFeatures, kept_rows
from revelio.training.evaluation.method import Example, Scores, from_logits
from revelio.types import Incident, Query

_TREES = 120
_SETTINGS = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "learning_rate": 0.1,
    "min_data_in_leaf": 20,
    "num_threads": 1,
    "deterministic": True,
    "seed": 0,
    "verbosity": -1,
}


class LambdaRank:
    """Orders by grade. It knows neither names nor templates nor the report, so it can be asked about any system."""

    name = "lambda_rank"

    def __init__(self, catalog: Catalog) -> None:
        """Untrained. The catalog has the noise floor of each metric."""
        self._features = CandidateFeatures(catalog)
        self._model: Any = None

    def fit(self, examples: Sequence[Example]) -> None:
        """Each incident with an accepted query once, independent of its reports."""
        with extras_for("the baseline of ranking trees"):
            import lightgbm  # noqa: PLC0415  only training set-ups have it
        rng = np.random.default_rng(0)
        rows, grades = [], []
        for example in {e.incident.id: e for e in examples if e.grades.any()}.values():
            flat = self._features.of(example.incident, example.queries)
            kept = kept_rows(flat, example.grades > 0, rng)
            rows.append(flat[kept])
            grades.append(example.grades[kept])
        if rows:
            data = lightgbm.Dataset(
                np.concatenate(rows), np.concatenate(grades), group=[len(r) for r in rows], feature_name=list(COLUMNS)
            )
            self._model = lightgbm.train(_SETTINGS, data, _TREES)

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """A softmax over the trees' scores; uniform without training examples."""
        if self._model is None or not queries:
            return from_logits(np.zeros(len(queries)), 0.5)
        return from_logits(np.asarray(self._model.predict(self._features.of(incident, queries))), 0.5)
