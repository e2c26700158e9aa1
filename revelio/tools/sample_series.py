"""Samples of a store as series over baseline and window, and the verdict that they give on a query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from revelio.catalog import Metric
from revelio.support.anomaly import deviation, explain, levels, signal, split
from revelio.support.numbers import format_value
from revelio.tools.base import Scope
from revelio.tools.samples import Sample
from revelio.types import Entity, Query, Series

RATE_S = 10.0
"""Seconds over which counters become rates, as in the PromQL of the catalog: sessions report theirs in bursts."""

LATE_S = 10.0
"""A query that runs this shortly after its window still sees the end of it."""


@dataclass(frozen=True, slots=True)
class SeriesAnomaly:
    """How strongly the series of a query point at a fault, in numbers and words. ``series`` are those it reads."""

    signal: float
    summary: str
    reason: str
    series: tuple[Series, ...] = ()


def is_counter(metric: Metric) -> bool:
    """Whether the value is a sum since the statistics began: its unit is that of a rate."""
    return metric.unit.endswith("/s")


def series_of(samples: Sequence[Sample], metrics: Iterable[Metric], scope: Scope) -> tuple[Series, ...]:
    """One series for each metric and name, all over the same times where there are samples in baseline and window.

    Where the baseline has none, one point in its middle stands for it: a counter's average since it began to count, zero
    for what is normally not there at all; other figures then have no past.
    """
    used = _within(samples, scope)
    if not used:
        return ()
    found = []
    for metric in metrics:
        for name in sorted({n for r, _ in used for m, n in r.values if m == metric.name}):
            found.append(_one(used, metric, name, scope))
    return tuple(s for s in found if s.times)


def verdict(query: Query, series: Iterable[Series], metrics: Iterable[Metric], scope: Scope, server: str) -> SeriesAnomaly:
    """The verdict on the series that the template of the query reads, the largest deviation first."""
    measures = {m.name: m for m in metrics}
    bound = {value for _, value in query.bindings} | {server}
    judged = []
    for reading in query.template.reads:
        for one in series:
            if one.metric == reading.metric and one.entity.name in bound:
                before, now = split(one.times, one.values, scope.baseline, scope.window)
                distance = deviation(before, now, reading.direction, measures[one.metric].noise_floor)
                judged.append((distance, one, before, now))
    judged = [j for j in judged if j[3]]
    if not judged:
        return SeriesAnomaly(0.0, "nothing was measured in the window", "nothing was measured")
    judged.sort(key=lambda j: (-j[0], not j[2]))
    distance, worst, before, now = judged[0]
    if not any(b for _, _, b, _ in judged):
        return SeriesAnomaly(0.0, _words(worst, before, now), "no baseline yet", tuple(s for _, s, _, _ in judged))
    name = _spoken(worst.metric)
    return SeriesAnomaly(
        signal(distance),
        _words(worst, before, now),
        explain(distance, name),
        tuple(s for _, s, _, _ in judged),
    )


def increase(samples: Sequence[Sample], metric: str, name: str, scope: Scope) -> float | None:
    """How much a counter grew since the window began, up to the latest sample; None without a sample before that."""
    earlier = [r for r in samples if r.at <= scope.window.start]
    start = earlier[-1] if earlier else None
    end = samples[-1].values.get((metric, name)) if samples else None
    if start is None or end is None:
        return None
    return max(0.0, end - start.values.get((metric, name), 0.0))


def _within(samples: Sequence[Sample], scope: Scope) -> list[tuple[Sample, float]]:
    """Readings with the moments they stand for, with those before the baseline that its first rates need."""
    found = [(r, r.at) for r in samples if scope.baseline.start - RATE_S - 1.0 <= r.at <= scope.window.end]
    late = [r for r in samples if scope.window.end < r.at <= scope.window.end + LATE_S]
    if late and not any(at >= scope.window.start for _, at in found):
        found += [(r, scope.window.end - (late[-1].at - r.at)) for r in late[-2:]]
    return found


def _one(used: Sequence[tuple[Sample, float]], metric: Metric, name: str, scope: Scope) -> Series:
    entity = Entity(metric.entity, name)
    if is_counter(metric):
        points = [(at, _rate(used[: i + 1], metric.name, name)) for i, (_, at) in enumerate(used) if i]
    else:
        points = [(at, r.values.get((metric.name, name), 0.0)) for r, at in used[1:] or used]
    points = [(at, value) for at, value in points if at >= scope.baseline.start]
    if points and not any(at < scope.window.start for at, _ in points):
        points = [*_stand_in(used[-1][0], metric, name, scope), *points]
    return Series(entity, metric.name, metric.unit, tuple(at for at, _ in points), tuple(value for _, value in points))


def _stand_in(sample: Sample, metric: Metric, name: str, scope: Scope) -> list[tuple[float, float]]:
    middle = scope.baseline.start + scope.baseline.seconds / 2
    if metric.absent_is_zero:
        return [(middle, 0.0)]
    if is_counter(metric) and sample.counting_s > 0:
        return [(middle, sample.values.get((metric.name, name), 0.0) / sample.counting_s)]
    return []


def _rate(used: Sequence[tuple[Sample, float]], metric: str, name: str) -> float:
    last, at = used[-1]
    value = last.values.get((metric, name))
    if value is None:
        return 0.0
    earlier = [r for r, then in used[:-1] if then <= at - RATE_S + 0.5]
    start = earlier[-1] if earlier else used[0][0]
    before = start.values.get((metric, name))
    if before is None:
        return 0.0
    # A counter that went down was reset: its value was counted since.
    return max(value - before if value >= before else value, 0.0) / max(last.at - start.at, 1e-3)


def _words(series: Series, before: Sequence[float], now: Sequence[float]) -> str:
    past, present = levels(before, now)
    was = "not known before" if past is None else f"{format_value(past, series.unit)} before"
    return f"{_spoken(series.metric)}: {format_value(present, series.unit)} now, {was}"


def _spoken(metric: str) -> str:
    """A metric's name in words, without the prefix of its store."""
    return re.sub("^(mysql|pg|redis)_", "", metric).replace("_", " ")
