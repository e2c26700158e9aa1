"""How much slower spans became: the median by interval, and the slow tail as a whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from revelio.support.anomaly import deviation
from revelio.types import Window

STRETCH_S = 5.0
TYPICAL_NOISE_MS, TAIL_NOISE_MS = 80.0, 150.0
TAIL = 90
FEWEST_BEFORE, FEWEST_NOW = 5, 3

Timing = tuple[float, float]
"""When a span ended (Unix seconds) and how long it took (milliseconds)."""


def slowdown(before: Sequence[Timing], now: Sequence[Timing], baseline: Window, window: Window) -> float:
    """Deviation in σ, positive when slower; 0 with too few spans, then or now.

    The larger of two: the median of each stretch of 5 s against the baseline's stretches, which sees what slows everything
    down, and the 90th percentile of all spans, which sees what slows down some of them.
    """
    if len(before) < FEWEST_BEFORE or len(now) < FEWEST_NOW:
        return 0.0
    typical = deviation(_medians(before, baseline), _medians(now, window), "up", TYPICAL_NOISE_MS)
    return max(typical, _tail(before, now))


def _medians(timings: Sequence[Timing], window: Window) -> list[float]:
    stretches: dict[int, list[float]] = defaultdict(list)
    for end, ms in timings:
        stretches[int((end - window.start) // STRETCH_S)].append(ms)
    return [float(np.median(stretch)) for _, stretch in sorted(stretches.items())]


def _tail(before: Sequence[Timing], now: Sequence[Timing]) -> float:
    if len(now) < FEWEST_BEFORE:
        return 0.0
    was, is_now = (float(np.percentile([ms for _, ms in timings], TAIL)) for timings in (before, now))
    return (is_now - was) / max(0.4 * was, TAIL_NOISE_MS)
