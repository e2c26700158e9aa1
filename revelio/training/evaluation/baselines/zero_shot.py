"""Published sentence embeddings, without training: ranks by the similarity of query and report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revelio.encoders.report import CachingEncoder, TextEncoder
from revelio.encoders.words import template_words
from revelio.training.evaluation.method import Example, Scores, from_logits
from revelio.types import Incident, Query

_SCALE = 20.0
"""Turns cosines into logits, as sentence encoders are trained (Reimers and Gurevych, 2019)."""


class ZeroShot:
    """The cosine of the report and the title, purpose and targets of each candidate."""

    name = "zero_shot"

    def __init__(self, text: TextEncoder) -> None:
        """``text`` returns unit vectors."""
        self._text = CachingEncoder(text)

    def fit(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        """A softmax over cosines; the less similar the best candidate, the more it abstains."""
        if not queries:
            return from_logits(np.zeros(0), 1.0)
        said = self._text.encode([incident.report])[0]
        asked = self._text.encode([f"{template_words(q.template)} {' '.join(v for _, v in q.bindings)}" for q in queries])
        cosine = (asked @ said).astype(np.float64)
        return from_logits(_SCALE * cosine, float(1.0 - cosine.max()))
