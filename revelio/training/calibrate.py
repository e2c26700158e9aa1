"""An abstain score that means what it says: fitted on predictions for incidents that the networks were not trained on.

What the networks say of queries is left as it is. The incidents to fit on are of the same kinds as those that were learnt
from, and a temperature fitted on them makes the model too sure of new kinds (docs/adr/0011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from revelio.encoders.query import EncodedIncident
from revelio.encoders.report import Floats
from revelio.ranker.scoring import Calibration, Logits


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the network said of one unseen example, with the grade of each candidate ``[N]`` and whether it was faulty."""

    encoded: EncodedIncident
    logits: Logits
    grades: Floats
    faulty: bool


def calibrate(predictions: Sequence[Prediction]) -> Calibration:
    """Abstain by the scaling of Platt (1999), with his smoothed targets. Without predictions: no change."""
    slope, offset = _platt([p.logits.abstain for p in predictions], [not p.faulty for p in predictions])
    return Calibration(slope, offset)


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
