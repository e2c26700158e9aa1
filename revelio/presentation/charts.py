"""Series as charts: those of one unit together, named by what tells them apart."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence

from revelio.presentation.panels import Chart, Line
from revelio.support.anomaly import levels, split
from revelio.support.numbers import format_value
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
    metrics = _metrics(series)
    entities = [s.entity.name for s in series]
    if len(set(metrics)) == 1:
        return metrics[0], tuple(entities)
    if len(set(entities)) == 1:
        labels = tuple(s.metric.partition(" ")[2] for s in series)
        bare = {_spoken(s.metric.partition(" ")[0], labels) for s in series}
        if len(bare) == 1 and all(labels):
            return f"{bare.pop()} of {entities[0]}", labels
        return entities[0], tuple(metrics)
    return "", tuple(f"{e}: {m}" for e, m in zip(entities, metrics, strict=True))


def finite(value: float | None) -> float | None:
    """The value, unless it is none that can be drawn."""
    return value if value is not None and math.isfinite(value) else None


def compared(series: Sequence[Series], baseline: Window, window: Window) -> str:
    """The figures of the first of several series in words: "latency p95: 1.5 s now, 85 ms before"."""
    line = _line(_metrics(series)[0], series[0], baseline, window)
    if line.now is None:
        return f"{line.name}: nothing was measured in the window"
    was = "not present before" if line.before is None else f"{format_value(line.before, series[0].unit)} before"
    return f"{line.name}: {format_value(line.now, series[0].unit)} now, {was}"


def _metrics(series: Sequence[Series]) -> list[str]:
    """Names of metrics as people read them. ``network_in`` split by ``in`` and ``out`` is ``network``, in and out."""
    labels = {s.metric.partition(" ")[2] for s in series}
    return [_spoken(s.metric, labels) for s in series]


def _spoken(metric: str, values: Collection[str]) -> str:
    """A metric's name without its store's prefix and underscores; the label values that follow it stay as they are, in
    parentheses where there are several.

    A last word that is one of the label ``values`` itself belongs to one series only, so it is no part of the name.
    """
    name, space, labels = metric.partition(" ")
    head, _, last = name.removeprefix("pg_").removeprefix("redis_").rpartition("_")
    name = head if head and last in values else f"{head} {last}".strip()
    return re.sub(r"\bcpu\b", "CPU", name.replace("_", " ")) + (f" ({labels})" if " " in labels else space + labels)


def _line(name: str, series: Series, baseline: Window, window: Window) -> Line:
    past, present = split(series.times, series.values, baseline, window)
    before, now = levels(past, present)
    highest = max((v for v in present if math.isfinite(v)), default=None)
    return Line(name, series.times, tuple(finite(v) for v in series.values), before, now, highest)
