"""Deviations from the baseline in σ, for all series, spans and summary features of the evidence at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from struct import pack

import numpy as np
from numpy.typing import NDArray

from revelio.catalog.conventions import signals
from revelio.catalog.presence import GONE_SIGMA, is_presence, off, sigma
from revelio.support.anomaly import RELATIVE, beyond, bounded, count_deviation, uncertainty, usual
from revelio.types import Feature, Series, SpanFigures, SpanStat, Window

Doubles = NDArray[np.float64]
SPAN_METRICS = ("p95_ms", "median_ms", "self_ms", "errors", "count")

_LEFT = 4.0
"""From this deviation in σ on, a value has left its baseline."""

RELATIVE_NOISE_FLOOR = 1e-3
"""The noise floor of a metric that declares none, as a share of its largest value."""
MIN_PEERS = 3
"""A summary feature without a baseline is compared with its peers when so many entities have it."""

_FIGURES = attrgetter("count", "errors", "median_ms", "p95_ms", "self_ms")


@dataclass(frozen=True, slots=True)
class SeriesDeviations:
    """Of each series ``[S]``: the deviation ``above`` and ``below`` its baseline, in σ.

    ``onset`` is when it left its baseline: 0 at the start of the window, 1 at its end or never. A series without a finite
    value in baseline or window is not ``known``; its deviations are undefined.
    """

    above: Doubles
    below: Doubles
    onset: Doubles
    known: NDArray[np.bool_]


def series_deviations(series: Sequence[Series], baseline: Window, window: Window, floors: Doubles) -> SeriesDeviations:
    """``revelio.support.anomaly.deviation`` up and down; ``floors [S]`` is the noise floor of each, in its own unit."""
    clocks = [s.times for s in series]
    lengths = np.fromiter(map(len, clocks), np.int64, len(clocks))
    times, values = _flat(clocks), _flat([s.values for s in series])
    row = np.repeat(np.arange(len(series)), lengths)
    finite = np.isfinite(values)
    past, before = _table(values, row, finite & (times >= baseline.start) & (times < baseline.end), len(series))
    present, now = _table(values, row, finite & (times >= window.start) & (times <= window.end), len(series))
    known = (before > 0) & (now > 0)
    before, now = np.maximum(before, 1), np.maximum(now, 1)
    with np.errstate(invalid="ignore"):  # infinity stands where a row has no value
        centre = _median(past, before)
        mad = 1.4826 * _median(np.abs(past - centre[:, None]), before)
        spread = np.maximum.reduce([mad, RELATIVE * np.abs(centre), floors, np.full_like(mad, 1e-9)]) * uncertainty(before, now)
        column = np.arange(present.shape[1])
        filled = column < now[:, None]
        outside = filled & (np.abs(present - centre[:, None]) > _LEFT * spread[:, None])
        ordered = np.where(filled, np.sort(present, axis=1), 0.0)
        half = np.maximum(1, now // 2)
        low = (ordered * (column < half[:, None])).sum(axis=1) / half
        high = (ordered * (column >= (now - half)[:, None])).sum(axis=1) / half
        above, below = (high - centre) / spread, (centre - low) / spread
        if any(s.earlier for s in series):
            least, most = np.array([usual(s.earlier) for s in series]).T
            above = beyond(high, centre, spread, least, most)
            below = -beyond(low, centre, spread, least, most)
            each = (bound[:, None] for bound in (centre, spread, least, most))
            outside &= np.abs(beyond(present, *each)) > _LEFT
    onset = np.where(outside.any(axis=1), outside.argmax(axis=1) / now, 1.0)
    found = SeriesDeviations(bounded(above), bounded(below), onset, known)
    _put_presence(found, series, baseline, window)
    return found


def _put_presence(found: SeriesDeviations, series: Sequence[Series], baseline: Window, window: Window) -> None:
    """Signals of presence are on or off: their deviation to the bad side is that of what is gone, and none is to the other."""
    for row, one in enumerate(series):
        if found.known[row] and is_presence(one.metric):
            samples = off(one, baseline, window)
            bad, good = (found.below, found.above) if signals()[one.metric].direction == "down" else (found.above, found.below)
            bad[row], good[row] = (far := sigma(samples)), min(0.0, -far)
            found.onset[row] = samples.argmax() / len(samples) if far >= GONE_SIGMA else 1.0


def span_deviations(spans: Sequence[SpanStat], baseline: Window, window: Window) -> dict[str, Doubles]:
    """``[S]`` for each of ``SPAN_METRICS``: the deviation above the baseline, in σ."""
    now, before = _span_figures([s.now for s in spans]), _span_figures([s.before for s in spans])
    counted = (now["count"] > 0) & (before["count"] > 0)
    found = {
        m: np.where(counted, (now[m] - before[m]) / (0.3 * before[m] + 5.0), 0.0) for m in ("p95_ms", "median_ms", "self_ms")
    }
    found |= {m: count_deviation(before[m], baseline.seconds, now[m], window.seconds) for m in ("errors", "count")}
    return {metric: bounded(values) for metric, values in found.items()}


def feature_deviations(features: Sequence[Feature]) -> Doubles:
    """``[S]``: the deviation of each summary feature above its baseline, or without a baseline above the median of its peers.

    Without either, the value itself is taken as the deviation.
    """
    by_name: dict[str, list[int]] = defaultdict(list)
    for index, feature in enumerate(features):
        by_name[feature.name].append(index)
    found = np.zeros(len(features))
    for own in by_name.values():
        value = np.nan_to_num([features[i].value for i in own])
        past = np.array([np.nan if (b := features[i].baseline) is None else b for i in own])
        alone = np.isnan(past)
        centre, spread = past, np.zeros_like(past)
        if alone.sum() >= MIN_PEERS:
            usual = np.median(value[alone])
            centre = np.where(alone, usual, past)
            spread = np.where(alone, 1.4826 * np.median(np.abs(value[alone] - usual)), 0.0)
        largest = max(np.abs(value).max(), np.nan_to_num(np.abs(past)).max())
        spread = np.maximum.reduce(
            [spread, 0.15 * np.abs(centre), np.full_like(spread, max(RELATIVE_NOISE_FLOOR * largest, 1e-9))]
        )
        found[own] = np.where(np.isnan(centre), value, (value - centre) / spread)
    return bounded(np.nan_to_num(found))


def _span_figures(figures: Sequence[SpanFigures]) -> dict[str, Doubles]:
    columns = _flat(list(map(_FIGURES, figures))).reshape(-1, 5).T
    return dict(zip(("count", "errors", "median_ms", "p95_ms", "self_ms"), columns, strict=True))


def _flat(parts: Sequence[tuple[float, ...]]) -> Doubles:
    return np.frombuffer(pack(f"{sum(map(len, parts))}d", *chain.from_iterable(parts)))  # half the time of np.fromiter


def _table(values: Doubles, row: NDArray[np.int64], chosen: NDArray[np.bool_], rows: int) -> tuple[Doubles, NDArray[np.int64]]:
    """The chosen values by row, in their order, infinity after the last; and how many there are in each row."""
    row = row[chosen]
    count = np.bincount(row, minlength=rows)
    table = np.full((rows, max(1, int(count.max(initial=0)))), np.inf)
    table[row, np.arange(len(row)) - (np.cumsum(count) - count)[row]] = values[chosen]
    return table, count


def _median(table: Doubles, count: NDArray[np.int64]) -> Doubles:
    """Of the first ``count`` values of each row, those that are not infinity."""
    ordered = np.sort(table, axis=1)
    line = np.arange(len(table))
    return np.asarray((ordered[line, (count - 1) // 2] + ordered[line, count // 2]) / 2.0)
