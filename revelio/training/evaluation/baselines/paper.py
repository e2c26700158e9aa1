"""The architecture of the paper (Dogga et al., MLSys 2022), built from its description; the paper came without code.

Frozen sentence embeddings of the report and of the logs, a graph convolution over each query's tree, the tool first and
then the query, all in one vector space. What it does not have: figures of each candidate's own component. The paper's
encoder was BERT; here it is the encoder that the model itself starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from revelio.encoders.report import CachingEncoder, Floats, TextEncoder
from revelio.support.extras import extras_for
from revelio.training.evaluation.method import Example, Scores, from_weights
from revelio.training.evaluation.method import Floats as Doubles
from revelio.types import Evidence, Incident, Query

if TYPE_CHECKING:
    from revelio.training.evaluation.baselines.paper_network import Case

WRONG_KEPT = 200
"""Wrong candidates per training case."""
MAX_LOGS = 40


class PaperArchitecture:
    """Trained from scratch by ``fit``. It never abstains."""

    name = "paper_architecture"

    def __init__(self, text: TextEncoder) -> None:
        """``text`` returns unit vectors and is not trained."""
        self._text = CachingEncoder(text)
        self._score: Callable[[Case], Doubles] | None = None

    def fit(self, examples: Sequence[Example]) -> None:
        """One case per report; reports without an answer are skipped."""
        with extras_for("the paper's architecture"):
            from revelio.training.evaluation.baselines.paper_network import trained  # noqa: PLC0415  only training set-ups have torch
        rng = np.random.default_rng(0)
        cases = []
        for example in examples:
            good = example.grades == 3
            if good.any():
                wrong = np.flatnonzero(~good)
                kept = np.union1d(np.flatnonzero(good), rng.permutation(wrong)[:WRONG_KEPT])
                cases.append(self._case(example.incident, tuple(example.queries[i] for i in kept), good[kept]))
        if cases:
            self._score = trained(cases, self._text.dimension)

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """Uniform without training cases."""
        if self._score is None or not queries:
            return from_weights(np.ones(len(queries)), 0.5)
        return Scores(self._score(self._case(incident, queries, np.zeros(len(queries), dtype=bool))), 0.5)

    def _case(self, incident: Incident, queries: tuple[Query, ...], right: np.ndarray) -> Case:
        from revelio.training.evaluation.baselines.paper_network import Case  # noqa: PLC0415

        trees = [_tree(q) for q in queries]
        words = list(dict.fromkeys(word for tree in trees for word in tree))
        number = {word: i for i, word in enumerate(words)}
        length = max(map(len, trees))
        numbered = np.array([[number[w] for w in tree] + [-1] * (length - len(tree)) for tree in trees], dtype=np.int64)
        names = list(dict.fromkeys(q.template.tool for q in queries))
        return Case(
            context=np.concatenate([self._text.encode([incident.report])[0], self._logs(incident.evidence)]),
            words=self._text.encode(words),
            trees=numbered,
            tools=np.array([names.index(q.template.tool) for q in queries], dtype=np.int64),
            right=right,
        )

    def _logs(self, evidence: Evidence) -> Floats:
        """Mean vector of the log patterns that grew most."""
        scale = evidence.window.seconds / max(evidence.baseline.seconds, 1e-9)
        grown = sorted(evidence.logs, key=lambda p: p.baseline_count * scale - p.count)[:MAX_LOGS]
        if not grown:
            return np.zeros(self._text.dimension, dtype=np.float32)
        return np.asarray(self._text.encode([f"{p.entity.name} {p.level} {p.pattern}" for p in grown]).mean(axis=0))


def _tree(query: Query) -> list[str]:
    """The tree of a query, flat: tool, template, then each blank with its value."""
    pairs = [word for name, value in query.bindings for word in (name, value)]
    return [query.template.tool, query.template.title, *pairs]
