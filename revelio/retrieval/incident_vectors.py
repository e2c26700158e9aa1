"""An incident as one vector: what left its baseline, what changed, what the model suspects, and the words of the report.

Figures, changes and templates are hashed into a fixed number of dimensions (Weinberger et al., 2009), so that incidents of
systems with other tools, or recorded before a template was added, can be compared. Components are left out: the same cause at
another place is similar.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from revelio.encoders.evidence import index_evidence
from revelio.encoders.report import Floats, TextEncoder
from revelio.types import Evidence, RankedQuery, Recommendation

_BLOCK = 256
"""Dimensions of each hashed part."""
_MIN_SIGMA, _MOST = 1.0, 2.0
FIGURES, CHANGES, SUSPECTED, REPORT = 1.0, 0.4, 0.5, 0.05
"""What each part adds to the cosine, chosen on the training split: reports are vague, and those of one place are alike."""


class IncidentVectors:
    """Turns answers into unit vectors of ``dimension``."""

    def __init__(self, text: TextEncoder, noise: Mapping[str, float]) -> None:
        """``text`` encodes reports, ``noise`` is the noise floor of each metric."""
        self.text, self._noise = text, noise
        self.dimension = text.dimension + 3 * _BLOCK

    def vector(self, answer: Recommendation) -> Floats:
        """``[dimension]``; zeros where an answer holds neither report nor evidence nor query."""
        incident = answer.incident
        report = self.text.encode([incident.report])[0] if incident.report.strip() else np.zeros(self.text.dimension, np.float32)
        parts = (
            (FIGURES, _hashed(_figures(incident.evidence, self._noise))),
            (CHANGES, _hashed(_changes(incident.evidence))),
            (SUSPECTED, _hashed(_suspected(answer.queries))),
            (REPORT, report),
        )
        return _unit(np.concatenate([math.sqrt(weight) * _unit(part) for weight, part in parts])).astype(np.float32)


def _figures(evidence: Evidence, noise: Mapping[str, float]) -> dict[str, float]:
    """The largest deviation of each figure at any entity, as a logarithm, up and down."""
    view = index_evidence(evidence, noise)
    found = {}
    for (source, metric), column in view.figures.items():
        rows = view.rows[:, column]
        rows = rows[rows >= 0]
        for direction, deviations in (("up", view.up), ("down", view.down)):
            largest = float(deviations[rows].max(initial=0.0))
            if largest >= _MIN_SIGMA:
                found[f"{source} {metric} {direction}"] = min(math.log1p(largest) / 3.0, _MOST)
    return found


def _changes(evidence: Evidence) -> dict[str, float]:
    """The fields that changed, with the words of their new values; the root, since repetition says little."""
    counts: dict[str, float] = defaultdict(float)
    for change in evidence.changes:
        words = {f"{change.field} {word}" for word in re.findall(r"[a-z]{3,}", change.after.lower())}
        for word in words | {change.field}:
            counts[word] += 1.0
    return {word: math.sqrt(count) for word, count in counts.items()}


def _suspected(queries: Sequence[RankedQuery]) -> dict[str, float]:
    """The templates of the ranked queries by the root of their probability."""
    share: dict[str, float] = defaultdict(float)
    for ranked in queries:
        share[ranked.query.template.id] += ranked.probability
    return {template: math.sqrt(probability) for template, probability in share.items()}


def _hashed(words: Mapping[str, float]) -> Floats:
    found = np.zeros(_BLOCK, dtype=np.float32)
    for word, weight in words.items():
        place, sign = _place(word)
        found[place] += sign * weight
    return found


@lru_cache(maxsize=20_000)
def _place(word: str) -> tuple[int, float]:
    value = int.from_bytes(hashlib.blake2b(word.encode(errors="replace"), digest_size=8).digest(), "big")
    return value % _BLOCK, 1.0 if value >> 63 else -1.0


def _unit(vector: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else vector
