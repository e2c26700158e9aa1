"""When a problem began: the change point of the signals that users feel, each judged by its own past alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from revelio.support.anomaly import bounded, usual
from revelio.types import Direction, Series
from revelio.types.question_time import Onset

Doubles = NDArray[np.float64]

USER_FACING: Mapping[str, Direction] = {
    "error_rate": "up",
    "latency_p95": "up",
    "latency_mean": "up",
    "rpc_error_rate": "up",
    "rpc_latency_p95": "up",
    "backend_error_rate": "up",
    "backend_latency": "up",
    "backend_down": "up",
    "probe_failing": "up",
    "request_rate": "down",
    "up": "down",
}
"""Signals that users feel, and their bad direction."""

SIGNIFICANT_SIGMA = 5.0
"""The shift of the median, in σ of the values before, from which it is an onset."""

_SHORTEST = 3
"""Points that a level has to last."""

_HISTORY = 8
"""Points that a series has to have before it can leave its past: its first ones are no past."""

_OF_LARGEST = 0.05
"""σ is at least this share of the largest value of a series."""

_RANK_Z = 3.2
"""The largest standardised rank sum that a change point needs: rank order alone, so no unit and no outlier matters."""

_DEEPEST = 6
_TOGETHER_S = 600.0
"""Signals that left their past so close to the strongest one did so for the same reason, in seconds."""

_COLLAPSE = 0.5
"""The share of its rate below which traffic has broken away: it also falls every evening."""


@dataclass(frozen=True, slots=True)
class _Shift:
    onset: Onset
    strength: float


def find_onset(series: Iterable[Series], end: float, zero_where_absent: frozenset[str] = frozenset()) -> Onset | None:
    """The onset of what still lasts at ``end``, else of the latest shift that is over, else None.

    Of several signals the strongest decides, and the first of those that shifted with it gives the time. Series of
    ``zero_where_absent`` count 0 where others have points and they have none.
    """
    series = [s for s in series if s.metric in USER_FACING and s.times and s.times[0] <= end]
    grid = np.unique(np.concatenate([s.times for s in series])) if series else np.zeros(0)
    grid = grid[grid <= end]
    shifts = [shift for one in series if len(grid) for shift in _shifts(one, grid, zero_where_absent)]
    lasting = [s for s in shifts if s.onset.until is None]
    if lasting:
        worst = max(lasting, key=lambda s: s.strength)
        first = min(s.onset.at for s in lasting if abs(s.onset.at - worst.onset.at) <= _TOGETHER_S)
        return replace(worst.onset, at=first)
    return max((s.onset for s in shifts), key=lambda o: o.at, default=None)


def _shifts(one: Series, grid: Doubles, zero_where_absent: frozenset[str]) -> Iterator[_Shift]:
    """The shifts of one series to its bad side."""
    times, values = _filled(one, grid, zero_where_absent)
    if len(values) < 2 * _SHORTEST:
        return
    cuts = [0, *_change_points(values, 0, _DEEPEST), len(values)]
    step = float(np.median(np.diff(times)))
    levels = [float(np.median(values[a:b])) for a, b in pairwise(cuts)]
    residual = values - np.repeat(levels, np.diff(cuts))
    for index, (left, cut) in enumerate(pairwise(cuts[:-1]), 1):
        before, noise = values[left:cut], float(np.std(residual[:cut]))
        sigmas = [_sigma(before, level, one, step, noise) for level in levels[index:]]
        if sigmas[0] < SIGNIFICANT_SIGMA or cut < _HISTORY:
            continue
        back = next((i for i, sigma in enumerate(sigmas) if sigma < SIGNIFICANT_SIGMA), None)
        until = None if back is None else float(times[cuts[index + back]])
        shown = min(sigmas[:back])
        onset = Onset(
            float(times[cut]), one.entity.name, one.metric, one.unit, float(np.median(before)), levels[index], sigmas[0], until
        )
        yield _Shift(onset, shown)


def _filled(one: Series, grid: Doubles, zero_where_absent: frozenset[str]) -> tuple[Doubles, Doubles]:
    """Its points; with zeros where it has none though others do, where that is what it means."""
    times, values = np.asarray(one.times), np.asarray(one.values)
    keep = np.isfinite(values) & (times <= grid[-1])
    times, values = times[keep], values[keep]
    gone = one.metric == "up" or (one.metric == "request_rate" and len(times) > 0 and times[-1] < grid[-1])
    if one.metric not in zero_where_absent and not gone:
        return times, values
    first = grid[0] if one.metric in zero_where_absent else (times[0] if len(times) else grid[0])
    whole = grid[grid >= first]
    found = np.zeros(len(whole))
    found[np.searchsorted(whole, times)] = values
    return whole, found


def _change_points(values: Doubles, start: int, depth: int) -> list[int]:
    """Binary segmentation by rank sums: the indices where levels begin, in order."""
    n = len(values)
    if depth == 0 or n < 2 * _SHORTEST:
        return []
    ordered, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    if len(ordered) < 2:
        return []
    rank = (np.cumsum(count) - (count - 1) / 2.0)[inverse]
    size = np.arange(1, n)
    drift = np.abs(np.cumsum(rank - (n + 1) / 2.0)[:-1])
    ties = 1.0 - float(((count**3 - count) / (n**3 - n)).sum())  # without it, bursts in what is mostly 0 are missed
    z = drift / np.sqrt(size * (n - size) * (n + 1) / 12.0 * ties)
    z[: _SHORTEST - 1] = z[n - _SHORTEST :] = 0.0
    cut = int(z.argmax()) + 1
    if z[cut - 1] < _RANK_Z:
        return []
    low, high = float(np.median(values[:cut])), float(np.median(values[cut:]))
    while cut > _SHORTEST and abs(values[cut - 1] - high) < abs(values[cut - 1] - low):
        cut -= 1  # ranks alone may put the first values of a level before it
    left = _change_points(values[:cut], start, depth - 1)
    return [*left, start + cut, *_change_points(values[cut:], start + cut, depth - 1)]


def _sigma(before: Doubles, level: float, one: Series, step: float, noise: float) -> float:
    """How far a level lies on the bad side of values before it and of those at this hour of earlier days, in σ.

    ``noise`` is what levels of the series vary by.
    """
    centre = float(np.median(before))
    least, most = usual(one.earlier)
    away = level - np.fmax(centre, most) if USER_FACING[one.metric] == "up" else np.fmin(centre, least) - level
    if one.metric == "request_rate" and level > _COLLAPSE * centre:
        return 0.0
    return float(bounded(float(away) / max(noise, spread(before, one.unit, step), _floor(one))))


def _floor(one: Series) -> float:
    """The least σ: a share of the largest value, so that none is far away because all before it were 0."""
    return _OF_LARGEST * max(map(abs, filter(np.isfinite, one.values)), default=0.0)


def spread(values: Sequence[float] | Doubles, unit: str, seconds: float) -> float:
    """σ of a series' own past, in its own unit: robust, never below 15 % of its median, and for rates that of counting.

    ``seconds`` is what one value stands for: an event more or less in that time says nothing.
    """
    past = np.asarray(values, dtype=float)
    centre = float(np.median(past))
    low, high = np.quantile(past, (0.05, 0.95))
    counting = ((abs(centre) * seconds + 1.0) ** 0.5) / seconds if unit.endswith("/s") and seconds > 0 else 0.0
    mad = 1.4826 * float(np.median(np.abs(past - centre)))
    return max(mad, float(high - low) / 3.29, 0.15 * abs(centre), counting, 1e-9)
