"""The evidence as distances from its own past: a glance at every figure, and a vector per component.

Nothing here depends on a component's name or position: figures are compared with their own baseline and ranked among
their peers, so a component, or an application, that was never seen before is read in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from revelio.anomaly import count_deviation
from revelio.encoders.report import Floats
from revelio.types import Evidence, Feature, LogPattern, Reading, Series, SpanFigures, SpanStat

FAMILIES = ("series_up", "series_down", "latency", "errors", "self_time", "logs", "changes")
"""What is known of a component: the largest distance in each of these families."""

CHANGED = 20.0
"""Distance given to a discrete change: far outside any ripple."""

_ERROR_LEVELS = frozenset({"error", "fatal", "critical", "warning", "warn"})


@dataclass(frozen=True, slots=True)
class Distance:
    """How far one figure is above and below its baseline, in spreads of the baseline."""

    up: float
    down: float
    onset: float = 1.0
    """When it left its baseline: 0 is the window's start, 1 its end or never."""

    def toward(self, direction: str) -> float:
        """The distance in the bad direction; positive is worse."""
        return {"up": self.up, "down": self.down}.get(direction, max(self.up, self.down))


@dataclass(slots=True)
class Glance:
    """Every figure of the evidence by (component, source, metric), and the families of each component."""

    figures: dict[tuple[str, str, str], Distance] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    families: dict[str, list[float]] = field(default_factory=dict)
    onset: dict[str, float] = field(default_factory=dict)
    callers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    callees: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def reading(self, name: str, reading: Reading) -> float | None:
        """The distance that a template's reading has at a component; None when the evidence has no such figure."""
        found = self.figures.get((name, reading.source, reading.metric))
        return None if found is None else found.toward(reading.direction)


def glance(evidence: Evidence, noise: Mapping[str, float] | None = None) -> Glance:
    """Look at all parts of the evidence once. ``noise`` is the absolute floor of each metric's ripple, in its own unit."""
    view = Glance(missing=frozenset(evidence.missing))
    for entity in evidence.entities:
        if entity.kind in ("service", "container"):
            view.families.setdefault(entity.name, [0.0] * len(FAMILIES))
        if entity.kind == "edge" and "->" in entity.name:
            caller, callee = entity.name.split("->", 1)
            view.callers[callee].add(caller)
            view.callees[caller].add(callee)
    _series(view, evidence, noise or {})
    for stat in evidence.spans:
        _span(view, stat, evidence)
    _logs(view, evidence)
    for change in evidence.changes:
        for metric in (change.field, ""):
            view.figures[change.entity.name, "changes", metric] = Distance(CHANGED, 0.0, 0.0)
        _raise(view, change.entity.name, "changes", CHANGED)
    for feature in evidence.features:
        _feature(view, feature)
    return view


def component(name: str) -> str:
    """The component that an entity belongs to: the service of an operation, the callee of an edge, else itself."""
    if "->" in name:
        return name.split("->", 1)[1]
    return name.split(": ", 1)[0]


def components_matrix(view: Glance) -> tuple[list[str], Floats]:
    """Names, and per component its squashed families, its rank among all in each, and its onset: ``[n, 15]``."""
    names = sorted(view.families)
    if not names:
        return [], np.zeros((0, 2 * len(FAMILIES) + 1), dtype=np.float32)
    raw = np.array([view.families[n] for n in names], dtype=np.float32)
    onset = np.array([[view.onset.get(n, 1.0)] for n in names], dtype=np.float32)
    return names, np.concatenate([squash(raw), ranks(raw), onset], axis=1)


def squash(values: Floats) -> Floats:
    """Sign and logarithm of a distance, about 1 for 20 spreads."""
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)) / 3.0, dtype=np.float32)


def ranks(values: Floats) -> Floats:
    """Per column, the share of other rows that lie strictly below: 1 is the furthest out, ties share the lower rank."""
    n = values.shape[0]
    if n < 2:
        return np.zeros_like(values, dtype=np.float32)
    order = np.sort(values, axis=0)
    below = np.stack([np.searchsorted(order[:, j], values[:, j], side="left") for j in range(values.shape[1])], axis=1)
    return np.asarray(below / (n - 1), dtype=np.float32)


def _raise(view: Glance, name: str, family: str, distance: float) -> None:
    if "->" in name and family != "errors":
        return  # an edge's own figures stay with the edge; only its errors speak of the callee
    row = view.families.setdefault(component(name), [0.0] * len(FAMILIES))
    index = FAMILIES.index(family)
    row[index] = max(row[index], distance)


def _series(view: Glance, evidence: Evidence, noise: Mapping[str, float]) -> None:
    groups: dict[tuple[float, ...], list[Series]] = defaultdict(list)
    for series in evidence.series:
        groups[series.times].append(series)
    for times, members in groups.items():
        clock = np.array(times)
        before = (clock >= evidence.baseline.start) & (clock < evidence.baseline.end)
        now = (clock >= evidence.window.start) & (clock <= evidence.window.end)
        if not before.any() or not now.any():
            continue
        values = np.array([s.values for s in members], dtype=float)
        floors = np.array([noise.get(s.metric, 0.0) for s in members])
        up, down, onset = _distances(values[:, before], values[:, now], floors)
        for series, high, low, first in zip(members, up, down, onset, strict=True):
            name = series.entity.name
            view.figures[name, "series", series.metric] = Distance(float(high), float(low), float(first))
            _raise(view, name, "series_up", float(high))
            _raise(view, name, "series_down", float(low))
            if first < 1.0:
                view.onset[component(name)] = min(float(first), view.onset.get(component(name), 1.0))


def _distances(past: np.ndarray, present: np.ndarray, floors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``revelio.anomaly.deviation`` for many series at once, and when each left its baseline, as a share of the window."""
    centre = np.median(past, axis=1)
    mad = 1.4826 * np.median(np.abs(past - centre[:, None]), axis=1)
    spread = np.maximum.reduce([mad, 0.15 * np.abs(centre), floors, np.full_like(mad, 1e-9)])
    ordered = np.sort(present, axis=1)
    half = max(1, present.shape[1] // 2)
    up = (ordered[:, -half:].mean(axis=1) - centre) / spread
    down = (centre - ordered[:, :half].mean(axis=1)) / spread
    outside = np.abs(present - centre[:, None]) > 4.0 * spread[:, None]
    onset = np.where(outside.any(axis=1), outside.argmax(axis=1) / present.shape[1], 1.0)
    return up, down, onset


def _span(view: Glance, stat: SpanStat, evidence: Evidence) -> None:
    now, before, name = stat.now, stat.before, stat.entity.name
    scale = evidence.window.seconds / max(evidence.baseline.seconds, 1e-9)
    errors = count_deviation(before.errors, evidence.baseline.seconds, now.errors, evidence.window.seconds)
    traffic = (now.count - before.count * scale) / np.sqrt(before.count * scale + 1.0)
    figures = {
        "p95_ms": _slower(now.p95_ms, before.p95_ms, now, before),
        "median_ms": _slower(now.median_ms, before.median_ms, now, before),
        "self_ms": _slower(now.self_ms, before.self_ms, now, before),
        "errors": errors,
        "count": float(traffic),
    }
    for metric, distance in figures.items():
        view.figures[name, "spans", metric] = Distance(distance, -distance)
    owner = stat.service or component(name)
    for metric, family in (("p95_ms", "latency"), ("errors", "errors"), ("self_ms", "self_time")):
        key = (owner, "spans", metric)
        worst = view.figures.get(key)
        if "->" not in name and (worst is None or figures[metric] > worst.up):
            view.figures[key] = Distance(figures[metric], -figures[metric])
        _raise(view, name if "->" in name else owner, family, figures[metric])


def _slower(now_ms: float, before_ms: float, now: SpanFigures, before: SpanFigures) -> float:
    if now.count == 0 or before.count == 0:
        return 0.0
    return (now_ms - before_ms) / (0.3 * before_ms + 5.0)


def _logs(view: Glance, evidence: Evidence) -> None:
    groups: dict[tuple[str, str], list[LogPattern]] = defaultdict(list)
    for pattern in evidence.logs:
        level = pattern.level.lower()
        groups[pattern.entity.name, level].append(pattern)
        groups[pattern.entity.name, ""].append(pattern)
        if level in _ERROR_LEVELS:
            groups[pattern.entity.name, "problems"].append(pattern)
        if pattern.baseline_count == 0:
            groups[pattern.entity.name, "new"].append(pattern)
            if level in _ERROR_LEVELS:
                groups[pattern.entity.name, "new_problems"].append(pattern)
    for (name, metric), patterns in groups.items():
        count = sum(p.count for p in patterns)
        past = sum(p.baseline_count for p in patterns)
        distance = count_deviation(past, evidence.baseline.seconds, count, evidence.window.seconds)
        view.figures[name, "logs", metric] = Distance(distance, -distance)
        if metric == "problems":
            _raise(view, name, "logs", distance)


def _feature(view: Glance, feature: Feature) -> None:
    if feature.baseline is None:
        distance = feature.value
    else:
        distance = (feature.value - feature.baseline) / max(0.15 * abs(feature.baseline), 1e-9)
    distance = float(np.clip(distance, -1e6, 1e6))
    view.figures[feature.entity.name, "features", feature.name] = Distance(distance, -distance)
    _raise(view, feature.entity.name, "series_up", distance)
    _raise(view, feature.entity.name, "series_down", -distance)
