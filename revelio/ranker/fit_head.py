"""Fits a head to lessons: a small problem that numpy solves in seconds, without torch and without the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.query import FEATURES, EncodedIncident
from revelio.ranker.head import Head, judged, readings
from revelio.ranker.scoring import Ranking

STEPS = 120
RATE = 0.1


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """An incident as the network ranked it, and which outcomes would have been right.

    ``right [N + 1]`` marks candidates, and last of all "nothing points at a fault"; ``weight`` is how much it counts.
    """

    encoded: EncodedIncident
    ranking: Ranking
    right: NDArray[np.bool_]
    weight: float = 1.0


def fit_head(examples: Sequence[TrainingExample], templates: Sequence[str], l2: float) -> Head:
    """The rows of ``templates`` that give the right outcomes of all lessons the most mass, held to zero by ``l2``.

    The loss is the weighted sum of -log P(right) plus ``l2`` / 2 times the squared weights; Adam (Kingma & Ba, 2015) from
    zero, so that two runs agree to the bit.
    """
    names = tuple(sorted(set(templates)))
    if not names or not examples:
        return Head(names, np.zeros((len(names), 1 + len(FEATURES)), dtype=np.float32))
    table = _Table(examples, names)
    weights = np.zeros((len(names), 1 + len(FEATURES) + table.reports.shape[1]))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        gradient = table.gradient(weights) + l2 * weights
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        size = RATE * (1.0 - (step - 1) / STEPS)
        weights -= size * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-6)
    return Head(names, weights.astype(np.float32))


class _Table:
    """All lessons end to end: the outcomes of one after those of the other, and of the judged candidates the features."""

    def __init__(self, examples: Sequence[TrainingExample], names: tuple[str, ...]) -> None:
        self.rows = len(names)
        self.starts = np.cumsum([0, *(len(x.right) for x in examples[:-1])])
        sizes = [len(x.right) for x in examples]
        self.example_of = np.repeat(np.arange(len(examples)), sizes)
        self.base = np.concatenate([_outcomes(x.ranking) for x in examples])
        self.right = np.concatenate([x.right for x in examples]).astype(float)
        self.weight = np.repeat([x.weight for x in examples], sizes)
        self.reports = np.stack([x.encoded.report for x in examples]).astype(np.float32)
        index, row, features = [], [], []
        for start, example in zip(self.starts, examples, strict=True):
            here, at = judged(example.encoded, names)
            index.append(start + here)
            row.append(at)
            features.append(readings(example.encoded, here))
        where, rows = np.concatenate(index), np.concatenate(row)
        order = np.argsort(rows, kind="stable")
        self.where, self.row = where[order], rows[order]
        self.features = np.concatenate(features)[order]
        self.cell = self.example_of[self.where] * self.rows + self.row

    def gradient(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the loss without its rein, ``[R, 1 + F + D]``."""
        width = self.features.shape[1]
        own, told = weights[:, :width].astype(np.float32), weights[:, width:].astype(np.float32)
        heard = (self.reports @ told.T).ravel()
        logits = self.base.copy()
        logits[self.where] += (self.features * own[self.row]).sum(axis=1) + heard[self.cell]
        chance = self._shares(np.exp(logits - np.maximum.reduceat(logits, self.starts)[self.example_of]))
        wanted = self._shares(np.maximum(chance * self.right, 1e-30 * self.right))
        slope = (self.weight * (chance - wanted))[self.where].astype(np.float32)
        bounds = np.searchsorted(self.row, np.arange(self.rows + 1))
        of_own = np.stack(
            [slope[a:b] @ self.features[a:b] for a, b in pairwise(bounds.tolist())]  # BLAS, row by row
        )
        by_report = np.bincount(self.cell, weights=slope, minlength=len(self.reports) * self.rows)
        of_told = by_report.reshape(-1, self.rows).T.astype(np.float32) @ self.reports
        return np.concatenate([of_own, of_told], axis=1).astype(np.float64)

    def _shares(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(mass / np.add.reduceat(mass, self.starts)[self.example_of])


def _outcomes(ranking: Ranking) -> NDArray[np.float64]:
    """``[N + 1]``: log-probabilities of the candidates and of nothing."""
    calm = min(max(ranking.abstain, 1e-6), 1 - 1e-6)
    joint = np.asarray(ranking.log_probability, dtype=np.float64) + np.log1p(-calm)
    return np.append(joint, np.log(calm))
