"""Whether simulated incidents are like recorded ones: the same figures of both, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from revelio.catalog import Catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.encoders.candidate_index import index_candidates
from revelio.encoders.evidence import index_evidence
from revelio.encoders.items import items
from revelio.support.anomaly import SIGNIFICANT_SIGMA
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.types import Evidence, Query

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Distribution:
    """One figure over many incidents, at ``QUANTILES``."""

    name: str
    quantiles: tuple[float, ...]


def distributions(incidents: Iterable[LabelledIncident], catalog: Catalog) -> tuple[Distribution, ...]:
    """Figures of incidents: what there is to ask, what deviates and how far, and how far up the cause is by deviation alone."""
    noise = {m.name: m.noise_floor for tool in catalog.tools for m in tool.metrics}
    found: dict[str, list[float]] = {}
    for labelled in incidents:
        for name, value in _figures(labelled, catalog, noise).items():
            found.setdefault(name, []).append(value)
    return tuple(Distribution(n, tuple(np.quantile(v, QUANTILES).round(3).tolist())) for n, v in found.items())


def _figures(labelled: LabelledIncident, catalog: Catalog, noise: Mapping[str, float]) -> dict[str, float]:
    record = labelled.record
    queries = record.candidates or candidates(labelled.catalog or catalog, inventory(record.evidence))
    seen = items(record.evidence, noise)
    size = np.expm1(3.0 * np.maximum(seen.numbers[:, 0], seen.numbers[:, 1]))
    far = size[size >= SIGNIFICANT_SIGMA]
    figures = {
        "candidates": float(len(queries)),
        "series": float(len(record.evidence.series)),
        "log patterns": float(len(record.evidence.logs)),
        "changes": float(len(record.evidence.changes)),
        "items at 4 sigma": float(len(far)),
        "share of items at 4 sigma": len(far) / max(1, len(size)),
    }
    if len(far):
        figures |= {"median deviation of these": float(np.median(far)), "largest deviation": float(far.max())}
    grades = np.array([labelled.grade(q) for q in queries])
    if (grades == 3).any():
        figures |= {f"queries of grade {g}": float((grades == g).sum()) for g in (3, 2, 1)}
        figures["rank of the cause by deviation"] = _rank(queries, grades, record.evidence, noise)
    if record.reports:
        figures["words of the report"] = float(len(record.reports[0].text.split()))
    return figures


def _rank(queries: Sequence[Query], grades: NDArray[np.int64], evidence: Evidence, noise: Mapping[str, float]) -> float:
    """The best rank that a query of grade 3 has when all are ordered by what they read; ties count half."""
    readings = index_candidates(tuple(queries)).readings
    sizes, known = readings.deviations(index_evidence(evidence, noise))
    worst = np.zeros(len(queries))
    np.maximum.at(worst, readings.query[known], sizes[known])
    best = worst[grades == 3].max()
    return float(1 + (worst > best).sum() + 0.5 * ((worst == best).sum() - 1))
