"""How far series and spans left their baseline, computed once for figures and items alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from revelio.encoders.deviations import RELATIVE_NOISE_FLOOR, Doubles, SeriesDeviations, series_deviations, span_deviations
from revelio.encoders.identity_cache import cached_by_identity
from revelio.support.anomaly import own_floor
from revelio.types import Evidence, Series


@cached_by_identity
def deviations_of_series(evidence: Evidence, noise: Mapping[str, float]) -> SeriesDeviations:
    """``series_deviations`` with the noise floor of each metric, in its own unit."""
    return series_deviations(evidence.series, evidence.baseline, evidence.window, _noise_floors(evidence.series, noise))


@cached_by_identity
def deviations_of_spans(evidence: Evidence) -> dict[str, Doubles]:
    """``span_deviations`` from what was observed of the baseline."""
    return span_deviations(evidence.spans, evidence.baseline_of("spans"), evidence.window)


def _noise_floors(series: Sequence[Series], noise: Mapping[str, float]) -> Doubles:
    """The noise floor of each series: as declared by its metric, else a small share of the largest value of that metric.

    A dotted name is that of many metrics, each of a size of its own.
    """
    largest = dict.fromkeys({s.metric for s in series if "." not in s.metric} - noise.keys(), 0.0)
    if largest:
        for one in series:
            if one.metric in largest:
                largest[one.metric] = max(largest[one.metric], max(map(abs, filter(isfinite, one.values)), default=0.0))
    floors = {**noise, **{metric: RELATIVE_NOISE_FLOOR * value for metric, value in largest.items()}}
    return np.array([floors[s.metric] if s.metric in floors else own_floor(s.values) for s in series])
