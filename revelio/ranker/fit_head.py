"""Fits a head to training examples: a convex problem that numpy solves in seconds, without torch and without the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.query import FEATURES, EncodedIncident
from revelio.ranker.head import Head, readings, with_row
from revelio.ranker.scoring import Ranking

STEPS = 120
RATE = 0.1


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """An incident as the network ranked it, with the right outcomes.

    ``right [N + 1]`` marks candidates and, last, "no fault"; ``weight`` is the weight of the example in the loss.
    """

    encoded: EncodedIncident
    ranking: Ranking
    right: NDArray[np.bool_]
    weight: float = 1.0


def fit_head(examples: Sequence[TrainingExample], templates: Sequence[str], l2: float) -> Head:
    """The rows of ``templates`` that maximise the probability of the right outcomes, with an ``l2`` penalty.

    The loss is the weighted sum of -log P(right) plus ``l2`` / 2 times the squared weights, minimised by Adam (Kingma & Ba,
    2015) from zero, so that two runs agree to the bit.
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
    """All examples concatenated: their outcomes, and the features of the candidates whose template has a row."""

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
            here, at = with_row(example.encoded, names)
            index.append(start + here)
            row.append(at)
            features.append(readings(example.encoded, here))
        where, rows = np.concatenate(index), np.concatenate(row)
        order = np.argsort(rows, kind="stable")
        self.where, self.row = where[order], rows[order]
        self.features = np.concatenate(features)[order]
        self.cell = self.example_of[self.where] * self.rows + self.row

    def gradient(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The gradient of the loss without its penalty, ``[R, 1 + F + D]``."""
        width = self.features.shape[1]
        of_features, of_report = weights[:, :width].astype(np.float32), weights[:, width:].astype(np.float32)
        from_report = (self.reports @ of_report.T).ravel()
        logits = self.base.copy()
        logits[self.where] += (self.features * of_features[self.row]).sum(axis=1) + from_report[self.cell]
        chance = self._shares(np.exp(logits - np.maximum.reduceat(logits, self.starts)[self.example_of]))
        wanted = self._shares(np.maximum(chance * self.right, 1e-30 * self.right))
        slope = (self.weight * (chance - wanted))[self.where].astype(np.float32)
        bounds = np.searchsorted(self.row, np.arange(self.rows + 1))
        feature_gradient = np.stack(
            [slope[a:b] @ self.features[a:b] for a, b in pairwise(bounds.tolist())]  # BLAS, row by row
        )
        by_report = np.bincount(self.cell, weights=slope, minlength=len(self.reports) * self.rows)
        report_gradient = by_report.reshape(-1, self.rows).T.astype(np.float32) @ self.reports
        return np.concatenate([feature_gradient, report_gradient], axis=1).astype(np.float64)

    def _shares(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(mass / np.add.reduceat(mass, self.starts)[self.example_of])


def _outcomes(ranking: Ranking) -> NDArray[np.float64]:
    """``[N + 1]``: log-probabilities of the candidates and of "no fault"."""
    no_fault = min(max(ranking.abstain, 1e-6), 1 - 1e-6)
    joint = np.asarray(ranking.log_probability, dtype=np.float64) + np.log1p(-no_fault)
    return np.append(joint, np.log(no_fault))
