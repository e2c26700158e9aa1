"""The evidence as distances from its own past: a glance at every figure, and a vector per component.

Nothing here depends on a component's name or position: figures are compared with their own baseline and ranked among
their peers, so a component, or an application, that was never seen before is read in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from revelio.anomaly import count_deviation
from revelio.encoders.deviations import (
    RELATIVE_NOISE_FLOOR,
    SPAN_METRICS,
    Doubles,
    feature_deviations,
    series_deviations,
    span_deviations,
)
from revelio.encoders.report import Floats
from revelio.types import Evidence, Reading, Series, Source

Ints = NDArray[np.int64]

FAMILIES = ("series_up", "series_down", "latency", "errors", "self_time", "logs", "changes")
"""What is known of a component: the largest distance in each of these families."""

CHANGED = 20.0
"""Distance given to a discrete change: far outside any ripple."""

Figure = tuple[Source, str]
"""Names what is known of an entity: source and metric."""

_ERROR_LEVELS = frozenset({"error", "fatal", "critical", "warning", "warn"})
_NONE: Doubles = np.zeros(0)
_LATENCY, _ERRORS = FAMILIES.index("latency"), FAMILIES.index("errors")


@dataclass(frozen=True, slots=True)
class EvidenceIndex:
    """Every figure of the evidence, and what is known of each component.

    ``up [R]`` and ``down [R]`` say how far a figure is above and below its own past. ``rows [E + 1, C + 1]`` tells which of
    them is an entity's figure: a line for each of ``entities`` and a column for each of ``figures``, -1 where there is none,
    as in the last line and the last column.
    ``components`` are sorted names; of each, ``families [M, 7]`` holds its largest distances and ``onset [M]`` when the first
    of its series left its baseline: 0 is the window's start, 1 its end or never. ``edges`` are pairs of caller and callee.
    """

    entities: dict[str, int]
    figures: dict[Figure, int]
    rows: Ints
    up: NDArray[np.float64]
    down: NDArray[np.float64]
    components: tuple[str, ...]
    families: Floats
    onset: Floats
    edges: tuple[tuple[str, str], ...]
    missing: frozenset[str]

    def reading(self, name: str, reading: Reading) -> float | None:
        """The distance that a template's reading has at an entity; None when the evidence has no such figure."""
        row = self.rows[self.entities.get(name, -1), self.figures.get((reading.source, reading.metric), -1)]
        return None if row < 0 else float(directed(reading.direction, self.up[row], self.down[row]))

    def largest(self, wanted: Iterable[Reading]) -> dict[Reading, float]:
        """The largest distance that each reading has at any entity; those that the evidence has nowhere are left out."""
        seen = {r: self.rows[:, self.figures[r.source, r.metric]] for r in wanted if (r.source, r.metric) in self.figures}
        return {r: float(directed(r.direction, self.up[at], self.down[at])[at >= 0].max()) for r, at in seen.items()}

    def figures_of(self, names: Sequence[str]) -> tuple[Figure, ...]:
        """What is known of any of these entities; of no entity in particular, all that is known."""
        if not names:
            return tuple(self.figures)
        known = self.rows[[self.entities.get(n, -1) for n in names]].max(axis=0) >= 0
        return tuple(compress(self.figures, known.tolist()))

    @property
    def row(self) -> dict[tuple[str, str, str], int]:
        """Where each figure stands, by its entity, source and metric."""
        lines = zip(self.entities, self.rows.tolist(), strict=False)
        return {(name, *f): row for name, line in lines for f, row in zip(self.figures, line, strict=False) if row >= 0}


def directed(direction: str, up: NDArray[np.float64], down: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distance in the bad direction; positive is worse."""
    return up if direction == "up" else down if direction == "down" else np.maximum(up, down)


def index_evidence(evidence: Evidence, noise: Mapping[str, float] | None = None) -> EvidenceIndex:
    """Look at all parts of the evidence once. ``noise`` is the absolute floor of each metric's ripple, in its own unit."""
    builder = _EvidenceIndexBuilder()
    for entity in evidence.entities:
        if entity.kind in ("service", "container"):
            builder.line(entity.name)
    _series(builder, evidence, noise or {})
    _spans(builder, evidence)
    _logs(builder, evidence)
    _changes(builder, evidence)
    _features(builder, evidence)
    edges = tuple((e.name.split("->", 1)[0], component(e.name)) for e in evidence.entities if e.kind == "edge" and "->" in e.name)
    return builder.build(edges, frozenset(evidence.missing))


def component(name: str) -> str:
    """The component that an entity belongs to: the service of an operation, the callee of an edge, else itself."""
    if "->" in name:
        return name.split("->", 1)[1]
    return name.split(": ", 1)[0]


def components_matrix(view: EvidenceIndex) -> Floats:
    """Per component its squashed families, its rank among all in each, and its onset: ``[M, 15]``."""
    return np.concatenate([squash(view.families), ranks(view.families), view.onset[:, None]], axis=1)


def neighbours(view: EvidenceIndex, names: Sequence[str]) -> Floats:
    """``[len(names), 4]``: the worst squashed latency and errors among what each calls, then among its callers; else 0."""
    line = {n: i for i, n in enumerate(view.components)}
    place = {n: i for i, n in enumerate(dict.fromkeys(names))}
    worst = squash(view.families[:, [_LATENCY, _ERRORS]])
    found = np.zeros((len(place), 4), dtype=np.float32)
    for start, pairs in ((0, view.edges), (2, [(b, a) for a, b in view.edges])):
        known = [(place[here], line[there]) for here, there in pairs if here in place and there in line]
        if known:
            here, there = np.array(known).T
            np.maximum.at(found[:, start : start + 2], here, worst[there])
    return np.asarray(found[[place[n] for n in names]])


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


class _EvidenceIndexBuilder:
    """A glance while it is being written."""

    def __init__(self) -> None:
        self._entities: list[str] = []
        self._figures: dict[Figure, int] = {}
        self._columns: list[Ints] = []
        self._up: list[Doubles] = []
        self._down: list[Doubles] = []
        self._line: dict[str, int] = {}
        self._raised: list[tuple[int, Ints, Doubles]] = []
        self._onset: list[tuple[str, float]] = []

    def write(self, names: Sequence[str], source: Source, metrics: Sequence[str], up: Doubles, down: Doubles) -> None:
        """Figures of entities; of one that is written twice the last holds."""
        columns = {m: self._figures.setdefault((source, m), len(self._figures)) for m in dict.fromkeys(metrics)}
        self._entities.extend(names)
        self._columns.append(np.fromiter(map(columns.__getitem__, metrics), np.int64, len(names)))
        self._up.append(up)
        self._down.append(down)

    def line(self, name: str) -> int:
        """The component's number."""
        return self._line.setdefault(name, len(self._line))

    def lines(self, names: Sequence[str], *, edges: bool = False) -> Ints:
        """The numbers of the components that entities belong to, by name; -1 for an edge, unless it speaks of its callee."""
        own = {n: self.line(component(n)) if edges or "->" not in n else -1 for n in dict.fromkeys(names)}
        return np.fromiter(map(own.__getitem__, names), np.int64, len(names))

    def raise_(self, family: str, lines: Ints, distances: Doubles) -> None:
        """Distances that components reach at least."""
        own = lines >= 0
        self._raised.append((FAMILIES.index(family), lines[own], distances[own]))

    def left(self, onsets: Iterable[tuple[str, float]]) -> None:
        """When series left their baseline, by the names of entities; those of an edge speak of its callee."""
        self._onset.extend(onsets)

    def build(self, edges: tuple[tuple[str, str], ...], missing: frozenset[str]) -> EvidenceIndex:
        """All of it, components sorted by name."""
        families, onset = np.zeros((len(self._line), len(FAMILIES))), [1.0] * len(self._line)
        for family, lines, distances in self._raised:
            np.fmax.at(families[:, family], lines, distances)
        for name, at in self._onset:
            if (line := self._line.get(component(name))) is not None:
                onset[line] = min(onset[line], at)
        names = tuple(sorted(self._line))
        order = np.array([self._line[n] for n in names], dtype=np.int64)
        entities = {n: i for i, n in enumerate(dict.fromkeys(self._entities))}
        lines = np.fromiter(map(entities.__getitem__, self._entities), np.int64, len(self._entities))
        rows = np.full((len(entities) + 1, len(self._figures) + 1), -1)
        rows[lines, np.concatenate(self._columns)] = np.arange(len(lines))
        return EvidenceIndex(
            entities=entities,
            figures=self._figures,
            rows=rows,
            up=np.concatenate([*self._up, _NONE]),
            down=np.concatenate([*self._down, _NONE]),
            components=names,
            families=families[order].astype(np.float32),
            onset=np.array(onset, dtype=np.float32)[order],
            edges=tuple(sorted(set(edges))),
            missing=missing,
        )


def _series(builder: _EvidenceIndexBuilder, evidence: Evidence, noise: Mapping[str, float]) -> None:
    found = series_deviations(evidence.series, evidence.baseline, evidence.window, _noise_floors(evidence.series, noise))
    series = list(compress(evidence.series, found.known.tolist()))
    names = [s.entity.name for s in series]
    above, below, onset = found.above[found.known], found.below[found.known], found.onset[found.known]
    builder.write(names, "series", [s.metric for s in series], above, below)
    lines = builder.lines(names)
    builder.raise_("series_up", lines, above)
    builder.raise_("series_down", lines, below)
    builder.left((n, at) for n, at in zip(names, onset.tolist(), strict=True) if at < 1.0)


def _noise_floors(series: Sequence[Series], noise: Mapping[str, float]) -> Doubles:
    """The least spread of each: its metric's ripple, or where nobody told that a small share of the metric's largest figure."""
    largest = dict.fromkeys({s.metric for s in series} - noise.keys(), 0.0)
    if largest:
        for one in series:
            if one.metric in largest:
                largest[one.metric] = max(largest[one.metric], max(map(abs, filter(isfinite, one.values)), default=0.0))
    return np.array([noise[s.metric] if s.metric in noise else RELATIVE_NOISE_FLOOR * largest[s.metric] for s in series])


def _spans(builder: _EvidenceIndexBuilder, evidence: Evidence) -> None:
    """A service shows the worst of its operations; the errors of an edge speak of the callee."""
    if not evidence.spans:
        return
    found = span_deviations(evidence.spans, evidence.baseline, evidence.window)
    names = [s.entity.name for s in evidence.spans]
    speaks_of = [n if "->" in n else s.service or component(n) for s, n in zip(evidence.spans, names, strict=True)]
    for metric in SPAN_METRICS:
        builder.write(names, "spans", [metric] * len(names), found[metric], -found[metric])
    owners = tuple(dict.fromkeys(o for o in speaks_of if "->" not in o))
    for metric, family in (("p95_ms", "latency"), ("errors", "errors"), ("self_ms", "self_time")):
        worst = dict.fromkeys(owners, -np.inf)
        for owner, distance in zip(speaks_of, found[metric].tolist(), strict=True):
            if owner in worst:
                worst[owner] = max(worst[owner], distance)
        reached = np.array(list(worst.values()))
        builder.write(owners, "spans", [metric] * len(owners), reached, -reached)
        builder.raise_(family, builder.lines(speaks_of, edges=family == "errors"), found[metric])


def _logs(builder: _EvidenceIndexBuilder, evidence: Evidence) -> None:
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for pattern in evidence.logs:
        level = pattern.level.lower()
        kinds = {level, ""}
        if level in _ERROR_LEVELS:
            kinds.add("problems")
        if pattern.baseline_count == 0:
            kinds |= {"new", "new_problems"} if level in _ERROR_LEVELS else {"new"}
        for kind in kinds:
            count = counts[pattern.entity.name, kind]
            count[0] += pattern.count
            count[1] += pattern.baseline_count
    seconds, past = evidence.window.seconds, evidence.baseline.seconds
    now, before = np.array(list(counts.values()), dtype=float).reshape(-1, 2).T
    distances = count_deviation(before, past, now, seconds)
    builder.write([name for name, _ in counts], "logs", [kind for _, kind in counts], distances, -distances)
    problems = [kind == "problems" for _, kind in counts]
    builder.raise_(
        "logs", builder.lines([name for name, _ in compress(counts, problems)]), distances[np.array(problems, dtype=bool)]
    )


def _changes(builder: _EvidenceIndexBuilder, evidence: Evidence) -> None:
    names = [c.entity.name for c in evidence.changes]
    far, none = np.full(len(names), CHANGED), np.zeros(len(names))
    builder.write(names, "changes", [c.field for c in evidence.changes], far, none)
    builder.write(names, "changes", [""] * len(names), far, none)
    builder.raise_("changes", builder.lines(names), far)


def _features(builder: _EvidenceIndexBuilder, evidence: Evidence) -> None:
    """A service shows the worst of its operations, unless it comes with a figure of that name itself."""
    names, metrics = [f.entity.name for f in evidence.features], [f.name for f in evidence.features]
    distances = feature_deviations(evidence.features)
    reached: dict[tuple[str, str], tuple[float, float]] = {}
    for name, metric, distance in zip(names, metrics, distances.tolist(), strict=True):
        if "->" not in name and (owner := component(name)) != name:
            up, down = reached.get((owner, metric), (-np.inf, -np.inf))
            reached[owner, metric] = max(up, distance), max(down, -distance)
    owners = np.array(list(reached.values())).reshape(-1, 2)
    builder.write([owner for owner, _ in reached], "features", [metric for _, metric in reached], owners[:, 0], owners[:, 1])
    builder.write(names, "features", metrics, distances, -distances)
    lines = builder.lines(names)
    builder.raise_("series_up", lines, distances)
    builder.raise_("series_down", lines, -distances)
