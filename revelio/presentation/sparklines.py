"""A series in one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from revelio.support.anomaly import split
from revelio.types import Window

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(
    times: Sequence[float],
    values: Sequence[float | None],
    baseline: Window,
    window: Window,
    points: int,
    scale: tuple[float, float] | None = None,
) -> str:
    """Baseline and window as bars with ``│`` between; at most ``points`` bars a side, each a mean, gaps blank.

    Bars reach from 0, or the lowest value, to the highest, or over ``scale``.
    """
    drawn = [math.nan if v is None else v for v in values]
    before, now = (_squeezed(side, points) for side in split(times, drawn, baseline, window))
    known = [v for v in (*before, *now) if math.isfinite(v)]
    low, high = scale or ((min(0.0, *known), max(known)) if known else (0.0, 0.0))
    return f"{_bars(before, low, high)}│{_bars(now, low, high)}"


def _squeezed(values: Sequence[float], points: int) -> list[float]:
    if len(values) <= points:
        return list(values)
    edges = [round(i * len(values) / points) for i in range(points + 1)]
    return [_mean(values[edges[i] : edges[i + 1]]) for i in range(points)]


def _mean(values: Sequence[float]) -> float:
    known = [v for v in values if math.isfinite(v)]
    return sum(known) / len(known) if known else math.nan


def _bars(values: Sequence[float], low: float, high: float) -> str:
    reach, top = high - low, len(_BARS) - 1
    return "".join(" " if not math.isfinite(v) else _BARS[round((v - low) / reach * top) if reach > 0 else 0] for v in values)
