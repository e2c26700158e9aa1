"""Calibrates probabilities on predictions for systems that were left out of training (docs/adr/0014)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from revelio.encoders.query import EncodedIncident
from revelio.encoders.report import Floats
from revelio.ranker.scoring import Calibration, Logits, rank

TEMPERATURES = tuple(round(0.5 * 1.1**n, 3) for n in range(16))
"""Those that are tried, from 0.5 to 2.1."""
SHOWS_CAUSE = 3
"""The grade of a query that shows the cause itself."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The out-of-fold output for one example, with the grade of each candidate ``[N]`` and whether it had a fault."""

    encoded: EncodedIncident
    logits: Logits
    grades: Floats
    faulty: bool


def calibrate(predictions: Sequence[Prediction]) -> Calibration:
    """Platt scaling (1999) of the abstain logit, with smoothed targets, and the temperature (Guo et al., 2017) at which accepted
    queries are most probable. Without predictions: no change."""
    slope, offset = _platt([p.logits.abstain for p in predictions], [not p.faulty for p in predictions])
    return Calibration(slope, offset, _temperature([p for p in predictions if (p.grades >= SHOWS_CAUSE).any()]))


def top_shares(predictions: Sequence[Prediction], calibration: Calibration, name: str) -> dict[str, float]:
    """The shares of faults whose cause is first, and among the first three, as ``NAME_top1`` and ``NAME_top3``; nothing without
    faults. They are there to choose settings by; test splits are not used for that."""
    hits: list[tuple[float, float]] = []
    for p in (p for p in predictions if p.faulty):
        order = np.argsort(-rank(p.encoded, p.logits, calibration).log_probability, kind="stable")
        good = p.grades[order] >= SHOWS_CAUSE
        hits.append((float(good[:1].any()), float(good[:3].any())))
    if not hits:
        return {}
    top1, top3 = np.mean(hits, axis=0)
    return {f"{name}_top1": round(float(top1), 4), f"{name}_top3": round(float(top3), 4)}


def _temperature(predictions: Sequence[Prediction]) -> float:
    def loss(temperature: float) -> float:
        chances = (np.exp(rank(p.encoded, p.logits, Calibration(), temperature).log_probability) for p in predictions)
        right = [chance[p.grades >= SHOWS_CAUSE].sum() for p, chance in zip(predictions, chances, strict=True)]
        return float(-np.log(np.maximum(right, 1e-9)).mean())

    return float(min(TEMPERATURES, key=loss)) if predictions else 1.0


def _platt(logits: Sequence[float], no_fault: Sequence[bool]) -> tuple[float, float]:
    positives = sum(no_fault)
    if not 0 < positives < len(no_fault):
        return 1.0, 0.0
    x = np.asarray(logits, dtype=float)
    high, low = (positives + 1) / (positives + 2), 1 / (len(no_fault) - positives + 2)
    y = np.where(np.asarray(no_fault), high, low)
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
