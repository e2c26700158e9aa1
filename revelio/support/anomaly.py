"""How far a value deviates from its baseline: one definition for ranking features and for the signal of query results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from revelio import types
from revelio.support.numbers import format_sigma
from revelio.types import Direction, Window

Doubles = NDArray[np.float64]

Counts = TypeVar("Counts", float, Doubles)
"""One count, or many."""

SIGNIFICANT = types.SIGNIFICANT
"""Signals from this value on count as significant."""

RELATIVE = 0.15
"""σ is at least this share of what is compared with."""

_FEW = np.array([1.0, 1.0, 6.5, 2.2, 1.6, 1.4, 1.3, 1.25, 1.0])
"""By what σ grows for a baseline of so many values, eight at the end: as Student's t does beside the normal distribution. One
value alone is no sample: it stands for the whole baseline, such as zero for what is normally not there."""

MOST_SIGMA = 1000.0
"""Deviations are clipped to this on either side: beyond it a larger one says no more."""

_NORMAL, _CERTAIN = 1.0, 7.0

SIGNIFICANT_SIGMA = _NORMAL + SIGNIFICANT * (_CERTAIN - _NORMAL)
"""The deviation in σ whose signal is ``SIGNIFICANT``."""


def deviation(
    before: Sequence[float],
    now: Sequence[float],
    direction: Direction,
    noise_floor: float = 0.0,
    earlier: Sequence[Sequence[float]] = (),
) -> float:
    """Robust deviation of ``now`` from ``before`` in σ; positive means worse.

    σ is 1.4826 x MAD of the baseline, but at least 15 % of its median and at least ``noise_floor`` (in the unit of the
    series), so that small changes of a flat baseline raise no alarm; a baseline of few values, or of fewer than ``now``, is less
    sure of it (``uncertainty``). ``now`` is summarised by the mean of its worse
    half, so a fault that began inside the window still counts. Returns 0.0 when either side is empty. What was as high, or
    as low, in each of the ``earlier`` windows at this hour is no deviation.
    """
    past, present = _finite(before), _finite(now)
    if past.size == 0 or present.size == 0:
        return 0.0
    centre = float(np.median(past))
    spread = max(1.4826 * float(np.median(np.abs(past - centre))), RELATIVE * abs(centre), noise_floor, 1e-9)
    spread *= float(uncertainty(past.size, present.size))
    low, high = _halves(present)
    up, down = (high - centre) / spread, (centre - low) / spread
    if any(earlier):
        least, most = usual(earlier)
        up = float(beyond(high, centre, spread, least, most))
        down = -float(beyond(low, centre, spread, least, most))
    return float(bounded({"up": up, "down": down, "both": max(up, down)}[direction]))


def uncertainty(before: float | NDArray[np.int64], now: float | NDArray[np.int64]) -> Doubles:
    """By what σ grows where a baseline has few values, or less than half as many as the window that is compared with it."""
    few = _FEW[np.clip(np.asarray(before, dtype=np.int64), 1, len(_FEW) - 1)]
    return few * np.sqrt(np.maximum(1.0, np.asarray(now) / (2.0 * np.maximum(1, before))))


def bounded(sigma: float | Doubles) -> Doubles:
    """Deviations within ``MOST_SIGMA``."""
    return np.clip(sigma, -MOST_SIGMA, MOST_SIGMA)


def own_floor(values: Sequence[float]) -> float:
    """The noise floor of a series whose unit and usual size nothing declares: the same share of its own largest value.

    One that was 0 through its baseline is then at most 6.7σ from it, however high it rises.
    """
    return RELATIVE * float(np.abs(_finite(values)).max(initial=0.0))


def usual(earlier: Sequence[Sequence[float]]) -> tuple[float, float]:
    """How low and how high each of the earlier windows reached, at least; NaN where none has values."""
    halves = [_halves(values) for values in map(_finite, earlier) if values.size]
    if not halves:
        return float("nan"), float("nan")
    return max(low for low, _ in halves), min(high for _, high in halves)


def beyond(
    value: float | Doubles, centre: float | Doubles, spread: float | Doubles, least: float | Doubles, most: float | Doubles
) -> Doubles:
    """How many σ values lie above ``centre``, counted only as far as they also leave ``least`` to ``most``, which is ``usual``.

    ``spread`` is σ at the centre; NaN stands for a bound that is not known.
    """
    sigma = (value - centre) / spread
    top, bottom = np.fmax(centre, most), np.fmin(centre, least)
    over = (value - top) / np.maximum(spread, RELATIVE * np.abs(top))
    under = (value - bottom) / np.maximum(spread, RELATIVE * np.abs(bottom))
    return np.where(sigma > 0.0, np.clip(over, 0.0, np.maximum(sigma, 0.0)), np.clip(under, np.minimum(sigma, 0.0), 0.0))


def levels(before: Sequence[float], now: Sequence[float]) -> tuple[float | None, float | None]:
    """The figures "before" and "now" of a series wherever one is shown; None where nothing was measured.

    They are what ``deviation`` compares: the median of the baseline, and the mean of that half of the window's values which is
    further from it (the higher half where there is no baseline).
    """
    past, present = _finite(before), _finite(now)
    if present.size == 0:
        return (float(np.median(past)) if past.size else None), None
    low, high = _halves(present)
    if past.size == 0:
        return None, high
    centre = float(np.median(past))
    return centre, high if high - centre >= centre - low else low


def _halves(values: Doubles) -> tuple[float, float]:
    """The means of the lower and of the higher half."""
    ordered = np.sort(values)
    half = max(1, ordered.size // 2)
    return float(ordered[:half].mean()), float(ordered[-half:].mean())


def _finite(values: Sequence[float]) -> Doubles:
    return np.asarray([v for v in values if np.isfinite(v)], dtype=float)


def count_deviation(before: Counts, before_seconds: float, now: Counts, now_seconds: float) -> Counts:
    """Deviation of an event count from the count expected at the rate of the baseline, in Poisson σ.

    σ is at least 15 % of the smaller of both: what always happens, happens more or less often with the load. A baseline shorter
    than the window is extrapolated, and the error of its own count with it; where nothing was observed (0 s), nothing is
    expected, and nothing deviates.
    """
    if before_seconds <= 0:
        return now * 0.0
    ratio = now_seconds / before_seconds
    expected = before * ratio
    spread: Counts = (
        expected + 1.0 + (RELATIVE * np.minimum(expected, now)) ** 2 + max(0.0, ratio - 1.0) ** 2 * (before + 1.0)
    ) ** 0.5
    return cast(Counts, bounded((now - expected) / spread))  # type: ignore[redundant-cast]


def signal(distance: float) -> float:
    """A deviation in σ as a signal in [0, 1]: 0 up to 1σ, 0.5 at 4σ, 1 from 7σ on."""
    return float(np.clip((distance - _NORMAL) / (_CERTAIN - _NORMAL), 0.0, 1.0))


def explain(sigma: float, of: str = "") -> str:
    """A deviation in words; below 1σ there is no anomaly."""
    return f"{of + ': peak' if of else 'Peak'} deviation {format_sigma(sigma)} from baseline" if sigma >= 1.0 else "no anomaly"


def split(times: Sequence[float], values: Sequence[float], baseline: Window, window: Window) -> tuple[list[float], list[float]]:
    """The values within the baseline and those within the window."""
    before = [v for t, v in zip(times, values, strict=True) if baseline.start <= t < baseline.end]
    now = [v for t, v in zip(times, values, strict=True) if window.start <= t <= window.end]
    return before, now
