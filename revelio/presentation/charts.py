"""Series as charts: those of one unit together, named by what tells them apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from revelio.anomaly import split
from revelio.presentation.panels import Chart, Line
from revelio.types import Series, Window

MAX_LINES = 8
"""Lines in one chart; more cannot be distinguished."""


def charts(series: Sequence[Series], baseline: Window, window: Window) -> Iterator[Chart]:
    """One chart for each unit."""
    groups: dict[str, list[Series]] = {}
    for one in series:
        groups.setdefault(one.unit, []).append(one)
    for unit, members in groups.items():
        shown = members[:MAX_LINES]
        title, names = named(shown)
        lines = tuple(_line(name, s, baseline, window) for name, s in zip(names, shown, strict=True))
        yield Chart(title, unit, lines, baseline, window, len(members) - len(shown))


def named(series: Sequence[Series]) -> tuple[str, tuple[str, ...]]:
    """What all have in common, as the chart's title, and what tells each from the others."""
    metrics = [_spoken(s.metric) for s in series]
    entities = [s.entity.name for s in series]
    if len(set(metrics)) == 1:
        return metrics[0], tuple(entities)
    if len(set(entities)) == 1:
        first = _spoken(series[0].metric.split(" ")[0])
        if all(m.startswith(f"{first} ") for m in metrics):
            return f"{first} of {entities[0]}", tuple(m.removeprefix(f"{first} ") for m in metrics)
        return entities[0], tuple(metrics)
    return "", tuple(f"{e}: {m}" for e, m in zip(entities, metrics, strict=True))


def finite(value: float | None) -> float | None:
    """The value, unless it is none that can be drawn."""
    return value if value is not None and math.isfinite(value) else None


def _spoken(metric: str) -> str:
    """A metric's name without its store's prefix and underscores; the labels that follow it stay as they are."""
    name, space, labels = metric.partition(" ")
    return name.removeprefix("pg_").removeprefix("redis_").replace("_", " ") + space + labels


def _line(name: str, series: Series, baseline: Window, window: Window) -> Line:
    before, now = split(series.times, series.values, baseline, window)
    past = [v for v in before if math.isfinite(v)]
    present = [v for v in now if math.isfinite(v)]
    return Line(
        name,
        series.times,
        tuple(finite(v) for v in series.values),
        median(past) if past else None,
        median(present) if present else None,
        max(present, default=None),
    )
