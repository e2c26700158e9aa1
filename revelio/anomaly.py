"""How far a figure is from its own past: one definition for the glance (features) and for executed queries (signal)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from revelio.types import Direction, Window

Counts = TypeVar("Counts", float, NDArray[np.float64])
"""One count, or many."""

PRESENT = 0.5
"""A signal at or above this counts as present."""

_CALM, _CERTAIN = 1.0, 7.0

PRESENT_DISTANCE = _CALM + PRESENT * (_CERTAIN - _CALM)
"""The distance, in spreads, whose signal is ``PRESENT``."""


def deviation(before: Sequence[float], now: Sequence[float], direction: Direction, noise: float = 0.0) -> float:
    """Robust distance of ``now`` from ``before``, in spreads of ``before``; positive means worse.

    The spread is 1.4826 x MAD of the baseline, but at least 15 % of its median and at least ``noise`` (in the series' own
    unit), so that a flat baseline does not turn a ripple into an alarm. ``now`` is summarised by the mean of its worse
    half, so a fault that began inside the window still counts. Returns 0.0 when either side is empty.
    """
    past = np.asarray([v for v in before if np.isfinite(v)], dtype=float)
    present = np.asarray([v for v in now if np.isfinite(v)], dtype=float)
    if past.size == 0 or present.size == 0:
        return 0.0
    centre = float(np.median(past))
    spread = max(1.4826 * float(np.median(np.abs(past - centre))), 0.15 * abs(centre), noise, 1e-9)
    ordered = np.sort(present)
    half = max(1, present.size // 2)
    up = (float(ordered[-half:].mean()) - centre) / spread
    down = (centre - float(ordered[:half].mean())) / spread
    return {"up": up, "down": down, "both": max(up, down)}[direction]


def count_deviation(before: Counts, before_seconds: float, now: Counts, now_seconds: float) -> Counts:
    """Distance of an event count from what the baseline's rate leads one to expect, in Poisson standard deviations."""
    expected = before * (now_seconds / before_seconds if before_seconds > 0 else 0.0)
    spread: Counts = (expected + 1.0) ** 0.5
    return (now - expected) / spread


def signal(distance: float) -> float:
    """A distance as a signal in [0, 1]: 0 up to 1 spread, 0.5 at 4, 1 from 7 on."""
    return float(np.clip((distance - _CALM) / (_CERTAIN - _CALM), 0.0, 1.0))


def split(times: Sequence[float], values: Sequence[float], baseline: Window, window: Window) -> tuple[list[float], list[float]]:
    """The values that fall into the baseline and those that fall into the window."""
    before = [v for t, v in zip(times, values, strict=True) if baseline.start <= t < baseline.end]
    now = [v for t, v in zip(times, values, strict=True) if window.start <= t <= window.end]
    return before, now
