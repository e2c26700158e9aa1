"""Metrics of ranking, calibration and abstention. Pure functions of arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from revelio.training.evaluation.method import Example, Floats, Scores
from revelio.types import Query

BINS = 10
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one method on one example. Ranks start at 1; a rank beyond the candidates means that none is accepted.

    ``rank`` is that of the first query that shows the cause itself (grade 3), ``accepted_rank`` that of the first accepted one.
    """

    candidates: int
    rank: int
    accepted_rank: int
    template_right: bool
    place_right: bool
    confidence: float
    abstain: float
    failed: bool = False
    first: tuple[Query, ...] = ()


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of the reliability diagram: mean confidence, accuracy and number of examples."""

    confidence: float
    accuracy: float
    count: int


def outcome(example: Example, scores: Scores) -> Outcome:
    """Rank the candidates of one example, and find the ranks of the accepted ones.

    Raises ``ValueError`` when the scores are not one finite-or-minus-infinite number per candidate.
    """
    values = np.asarray(scores.log_probabilities, dtype=float)
    n = len(example.queries)
    if values.shape != (n,) or np.isnan(values).any() or np.isnan(scores.abstain):
        raise ValueError(f"scores of shape {values.shape} with NaN or of the wrong length for {n} candidates")
    order = ranking(example.incident.id, example.queries, values)
    grades = example.grades[order]
    top = example.queries[order[0]] if n else None
    best = example.best
    return Outcome(
        candidates=n,
        rank=_first(grades == 3),
        accepted_rank=_first(grades > 0),
        template_right=top is not None and any(top.template.id == q.template.id for q in best),
        place_right=top is not None and any(_place(top) == _place(q) for q in best),
        confidence=float(np.exp(values[order[0]])) if n else 0.0,
        abstain=scores.abstain,
        first=tuple(example.queries[i] for i in order[:3]),
    )


def miss(example: Example) -> Outcome:
    """The outcome of a method that raised: a miss without confidence."""
    beyond = len(example.queries) + 1
    return Outcome(len(example.queries), beyond, beyond, False, False, 0.0, 0.5, failed=True)


def ranking(incident_id: str, queries: Sequence[Query], values: Floats) -> NDArray[np.int64]:
    """Indices, best first. Ties are broken by a hash of incident and query: deterministic and unbiased."""
    tie = [hashlib.sha256(f"{incident_id}/{q.id}".encode()).digest()[:8] for q in queries]
    return np.array(sorted(range(len(queries)), key=lambda i: (-values[i], tie[i])), dtype=np.int64)


def hits(outcomes: Sequence[Outcome], k: int) -> Floats:
    """1 where a query that shows the cause is in the first ``k``."""
    return np.array([float(o.rank <= min(k, o.candidates)) for o in outcomes])


def accepted_hits(outcomes: Sequence[Outcome], k: int) -> Floats:
    """1 where any accepted query is in the first ``k``."""
    return np.array([float(o.accepted_rank <= min(k, o.candidates)) for o in outcomes])


def reciprocal_ranks(outcomes: Sequence[Outcome]) -> Floats:
    """1 / rank of the first query that shows the cause; 0 when there is none."""
    return np.array([1.0 / o.rank if o.rank <= o.candidates else 0.0 for o in outcomes])


def reliability(confidence: Floats, right: Floats, bins: int = BINS) -> tuple[Bin, ...]:
    """Equal-width bins over [0, 1], without empty ones."""
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    found = []
    for b in range(bins):
        inside = place == b
        if inside.any():
            found.append(Bin(float(confidence[inside].mean()), float(right[inside].mean()), int(inside.sum())))
    return tuple(found)


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """Mean distance of confidence from accuracy, weighted by the bins' counts (Guo et al., 2017)."""
    total = sum(b.count for b in bins)
    return sum(b.count * abs(b.confidence - b.accuracy) for b in bins) / total if total else 0.0


def chance_calibration_error(confidence: Floats, incident: NDArray[np.int64], seed: int = 0) -> float:
    """The mean expected calibration error of perfectly calibrated predictions with these confidences.

    With few incidents it is far from 0. Examples with the same ``incident [N]`` are right or wrong together.
    """
    luck = np.random.default_rng(seed).random((RESAMPLES, int(incident.max()) + 1 if len(incident) else 0))
    drawn = [expected_calibration_error(reliability(confidence, (row[incident] < confidence).astype(float))) for row in luck]
    return float(np.mean(drawn))


def auroc(positive: Floats, negative: Floats) -> float:
    """Probability that a positive outscores a negative, ties counting half (Mann-Whitney); NaN when either is empty."""
    if not len(positive) or not len(negative):
        return float("nan")
    above = (positive[:, None] > negative[None, :]).sum()
    equal = (positive[:, None] == negative[None, :]).sum()
    return float((above + 0.5 * equal) / (len(positive) * len(negative)))


def mean_interval(values: Floats, seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of the mean over incidents."""
    picks = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.percentile(values[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def auroc_interval(positive: Floats, negative: Floats, seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of the AUROC, both sides resampled."""
    rng = np.random.default_rng(seed)
    drawn = [auroc(rng.choice(positive, len(positive)), rng.choice(negative, len(negative))) for _ in range(RESAMPLES)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def _first(accepted: NDArray[np.bool_]) -> int:
    found = np.flatnonzero(accepted)
    return int(found[0]) + 1 if len(found) else len(accepted) + 1


def _place(query: Query) -> frozenset[str]:
    return frozenset(value for _, value in query.bindings)
