"""Probabilities that mean what they say: fitted on predictions for incidents that the network was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from revelio.encoders.query import EncodedIncident
from revelio.encoders.report import Floats
from revelio.ranker.scoring import Calibration, Logits, rank


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the network said of one unseen example, with the grade of each candidate ``[N]`` and whether it was faulty."""

    encoded: EncodedIncident
    logits: Logits
    grades: Floats
    faulty: bool


def calibrate(predictions: Sequence[Prediction]) -> Calibration:
    """Temperature by the log loss of the first query's probability against its being right; abstain by Platt's scaling.

    Platt (1999), with his smoothed targets; Guo et al. (2017) for the temperature. Without predictions: no change.
    """
    faulty = [p for p in predictions if p.faulty]
    temperature = 1.0
    if faulty:
        grid = np.exp(np.linspace(np.log(0.2), np.log(5.0), 65))
        temperature = float(min(grid, key=lambda t: _first_query_loss(faulty, float(t))))
    slope, offset = _platt([p.logits.abstain for p in predictions], [not p.faulty for p in predictions])
    return Calibration(temperature, slope, offset)


def _first_query_loss(predictions: Sequence[Prediction], temperature: float) -> float:
    losses = []
    for p in predictions:
        joint = rank(p.encoded, p.logits, Calibration(temperature)).log_probability
        top = int(np.argmax(joint))
        confidence = float(np.clip(np.exp(joint[top]), 1e-4, 1 - 1e-4))
        right = p.grades[top] >= p.grades.max()
        losses.append(-np.log(confidence if right else 1.0 - confidence))
    return float(np.mean(losses))


def _platt(logits: Sequence[float], calm: Sequence[bool]) -> tuple[float, float]:
    positives = sum(calm)
    if not 0 < positives < len(calm):
        return 1.0, 0.0
    x = np.asarray(logits, dtype=float)
    high, low = (positives + 1) / (positives + 2), 1 / (len(calm) - positives + 2)
    y = np.where(np.asarray(calm), high, low)
    design = np.stack([x, np.ones_like(x)], axis=1)
    weights = np.array([1.0, 0.0])
    for _ in range(50):  # Newton's method with a ridge that keeps separable data finite
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (p - y) + 1e-2 * (weights - np.array([1.0, 0.0]))
        hessian = (design * (p * (1 - p))[:, None]).T @ design + 1e-2 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if float(np.abs(step).max()) < 1e-8:
            break
    return float(weights[0]), float(weights[1])
