"""How far figures are from their own past, for all series and all spans of some evidence at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from struct import pack

import numpy as np
from numpy.typing import NDArray

from revelio.anomaly import count_deviation
from revelio.types import Series, SpanFigures, SpanStat, Window

Doubles = NDArray[np.float64]
SPAN_METRICS = ("p95_ms", "median_ms", "self_ms", "errors", "count")

_FIGURES = attrgetter("count", "errors", "median_ms", "p95_ms", "self_ms")


@dataclass(frozen=True, slots=True)
class SeriesDistances:
    """Of each series ``[S]``: how far it is ``above`` and ``below`` its baseline, in spreads of the baseline.

    ``onset`` is when it left its baseline, 0 at the window's start, 1 at its end or never. A series without a finite value
    in baseline or window is not ``known``: its distances mean nothing.
    """

    above: Doubles
    below: Doubles
    onset: Doubles
    known: NDArray[np.bool_]


def series_distances(series: Sequence[Series], baseline: Window, window: Window, floors: Doubles) -> SeriesDistances:
    """``revelio.anomaly.deviation`` up and down; ``floors [S]`` is the least spread of each, in its own unit."""
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
        spread = np.maximum.reduce([mad, 0.15 * np.abs(centre), floors, np.full_like(mad, 1e-9)])
        column = np.arange(present.shape[1])
        filled = column < now[:, None]
        outside = filled & (np.abs(present - centre[:, None]) > 4.0 * spread[:, None])
        ordered = np.where(filled, np.sort(present, axis=1), 0.0)
        half = np.maximum(1, now // 2)
        low = (ordered * (column < half[:, None])).sum(axis=1) / half
        high = (ordered * (column >= (now - half)[:, None])).sum(axis=1) / half
        above, below = (high - centre) / spread, (centre - low) / spread
    onset = np.where(outside.any(axis=1), outside.argmax(axis=1) / now, 1.0)
    return SeriesDistances(above, below, onset, known)


def span_distances(spans: Sequence[SpanStat], baseline: Window, window: Window) -> dict[str, Doubles]:
    """``[S]`` by each of ``SPAN_METRICS``: how far above its baseline it is."""
    now, before = _span_figures([s.now for s in spans]), _span_figures([s.before for s in spans])
    counted = (now["count"] > 0) & (before["count"] > 0)
    found = {
        m: np.where(counted, (now[m] - before[m]) / (0.3 * before[m] + 5.0), 0.0) for m in ("p95_ms", "median_ms", "self_ms")
    }
    return found | {m: count_deviation(before[m], baseline.seconds, now[m], window.seconds) for m in ("errors", "count")}


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
