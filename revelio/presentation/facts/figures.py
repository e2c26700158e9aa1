"""Series as facts: the figure now beside its normal range, a version that took the place of another, what stopped answering."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from revelio.catalog.presence import is_presence
from revelio.presentation.facts.fact import Fact, Words, quoted, since
from revelio.support.anomaly import levels, split
from revelio.support.numbers import format_value
from revelio.types import Evidence, Query, Series, fill

_UPTIME = ("uptime", "host_uptime")
_VERSIONS = "versions "
_RESTART_S = 60.0
_MANY = 2.0
"""From so many times its normal value on, a figure is also told as a multiple."""


def figure(query: Query, series: Sequence[Series], evidence: Evidence) -> Fact | None:
    """What the first series shows, which is the one that a query is judged by; None where it has no values in the window."""
    if not series:
        return None
    first = series[0]
    metric = first.metric.partition(" ")[0]
    if any(s.metric.startswith(_VERSIONS) for s in series):
        return version(series, evidence)
    if metric == _VERSIONS.strip():
        return _several(query, first, evidence)
    before, now = _levels(first, evidence)
    if now is None:
        return None
    at, component = began(first, evidence), component_of(query, first.entity.name)
    if is_presence(metric) and before is not None:
        words = f"{component} does not answer as before" if _partly(metric, now) else f"{component} stopped answering"
        return Fact(
            "change",
            component,
            (words, *since(at)),
            at,
            f"find out whether {component} still runs and what its last log lines say",
        )
    if metric in _UPTIME and before is not None and now < before:
        started = _started(first, evidence)
        return Fact(
            "change", component, (f"{component} started again", *_moment(started)), started, f"find out why {component} restarted"
        )
    return Fact("figure", component, (*_compared(query, first, before, now, evidence), *since(at)), at, _step(component, first))


def version(series: Sequence[Series], evidence: Evidence) -> Fact | None:
    """A version that runs only since the window began; None without one."""
    named = [s for s in series if s.metric.startswith(_VERSIONS)]
    new = [(s, at) for s in named if (at := _first(s)) is not None and at >= evidence.window.start]
    if not new:
        return None
    latest, seen = max(new, key=lambda one: one[1])
    at = _replaced(latest.entity.name, seen, evidence)
    was = [s.metric.removeprefix(_VERSIONS) for s in named if (first := _first(s)) is not None and first < evidence.window.start]
    name, component = latest.metric.removeprefix(_VERSIONS), latest.entity.name
    change = f"{component} updated {was[0]} → {name}" if was else f"{component} runs version {name}, not seen before,"
    step = f"read what changed from {was[0]} to {name}, or roll {component} back" if was else f"read what is new in {name}"
    return Fact("change", component, (f"{change} at ", at), at, step)


def _several(query: Query, series: Series, evidence: Evidence) -> Fact | None:
    """More versions at once than before, where their names are not known."""
    before, now = split(series.times, series.values, evidence.baseline, evidence.window)
    most = max(now, default=0.0)
    at = next((t for t, v in zip(series.times, series.values, strict=True) if t >= evidence.window.start and v == most), None)
    if at is None or most <= max(before, default=0.0):
        return None
    words = f"{series.entity.name} ran {most:.0f} versions at once at "
    return Fact("change", series.entity.name, (words, at), at, f"run {quoted(query.title)} to see which")


def _replaced(component: str, seen: float, evidence: Evidence) -> float:
    """When a process last stopped or started before its new version was ``seen``: scrapes see it only later."""
    restarts = (c.at for c in evidence.changes if c.entity.name == component and c.field in ("state", "started"))
    return max((at for at in restarts if 0.0 <= seen - at <= _RESTART_S), default=seen)


def began(series: Series, evidence: Evidence) -> float | None:
    """When a series came nearer to its figure now than to that before; None without such a step."""
    before, now = _levels(series, evidence)
    if before is None or now is None or before == now:
        return None
    window = evidence.window
    points = [(t, v) for t, v in zip(series.times, series.values, strict=True) if math.isfinite(v)]
    return next((t for t, v in points if window.start <= t <= window.end and abs(v - now) < abs(v - before)), None)


def title_of(query: Query) -> str:
    """The title of a query as the name of what it measures: without the capture that it is read from."""
    title = re.sub(r" in \$\{capture\}$", "", query.template.title)
    return fill(title, query.bindings).removesuffix(", which left its own past")


def component_of(query: Query, otherwise: str = "") -> str:
    """What a query is about: its first target, without the operation."""
    entity = next(iter(query.entities), None)
    return entity.name.partition(": ")[0] if entity else otherwise


def normal_range(series: Series, evidence: Evidence) -> tuple[float, float] | None:
    """Where nine in ten of its values before lie, those at this hour of earlier days included; None without any."""
    past, _ = split(series.times, series.values, evidence.baseline, evidence.window)
    known = [v for v in (*past, *(v for day in series.earlier for v in day)) if math.isfinite(v)]
    if not known:
        return None
    low, high = np.quantile(known, (0.05, 0.95))
    return float(low), float(high)


def normally(low: float, high: float, unit: str) -> str:
    """``normally 6 to 8 %``, with the unit once where both have it."""
    if low == high == 0.0:
        return "normally none"
    first, last = _written(low, unit), _written(high, unit)
    number, _, same = first.partition(" ")
    return f"normally {last}" if first == last else f"normally {number if last.endswith(f' {same}') else first} to {last}"


def _compared(query: Query, series: Series, before: float | None, now: float, evidence: Evidence) -> Words:
    usual = normal_range(series, evidence)
    figure = f"{title_of(query)}: {_written(now, series.unit)}"
    if usual is None or before is None:
        return (f"{figure}, not there before,",)
    share = now / before if before > 0 else 0.0
    times = f", {format_value(round(share, 1) if share < 10 else round(share))} × normal" if share >= _MANY else ""
    return (f"{figure} ({normally(*usual, series.unit)}{times})",)


def _written(value: float, unit: str) -> str:
    return format_value(value, unit, bare=unit.startswith("of "))


def _step(component: str, series: Series) -> str:
    caller, arrow, target = series.entity.name.partition("->")
    if arrow:
        return f"check whether {target} answers, and what lies between {caller} and {target}"
    if series.unit.startswith("of "):
        return f"find what uses it up in {component}, or raise the limit"
    return f"look at what else changed at {component} when it began"


def _levels(series: Series, evidence: Evidence) -> tuple[float | None, float | None]:
    return levels(*split(series.times, series.values, evidence.baseline, evidence.window))


def _partly(metric: str, now: float) -> bool:
    return metric == "up" and now >= 0.5


def _first(series: Series) -> float | None:
    return next((t for t, v in zip(series.times, series.values, strict=True) if math.isfinite(v) and v > 0), None)


def _started(series: Series, evidence: Evidence) -> float | None:
    """When the process of an uptime started, by its last value."""
    points = [(t, v) for t, v in zip(series.times, series.values, strict=True) if math.isfinite(v)]
    return max((t - v for t, v in points), default=None)


def _moment(at: float | None) -> Words:
    return () if at is None else (" at ", at)
