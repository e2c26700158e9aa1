"""The evidence as deviations from its baseline: an index of every figure, and a vector per component.

Nothing here depends on the name or position of a component: figures are compared with their own baseline and ranked among
their peers, so that an unknown component or application is read in the same way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from revelio.catalog.presence import Absence, absences
from revelio.encoders.cached_deviations import deviations_of_series, deviations_of_spans
from revelio.encoders.deviations import (
    SPAN_METRICS,
    Doubles,
    feature_deviations,
)
from revelio.encoders.report import Floats
from revelio.support.anomaly import count_deviation
from revelio.types import Evidence, Reading, Source

Ints = NDArray[np.int64]

FAMILIES = ("series_up", "series_down", "latency", "errors", "self_time", "logs", "changes")
"""Each component has the largest deviation in each of these families."""

CHANGED = 20.0
"""The deviation of a discrete change in σ: far above any noise."""

Figure = tuple[Source, str]
"""Source and metric of a figure."""

_ERROR_LEVELS = frozenset({"error", "fatal", "critical", "warning", "warn"})
_NONE: Doubles = np.zeros(0)
_LATENCY, _ERRORS = FAMILIES.index("latency"), FAMILIES.index("errors")


@dataclass(frozen=True, slots=True)
class EvidenceIndex:
    """Every figure of the evidence by entity and metric, and a summary of each component.

    ``up [R]`` and ``down [R]`` are the deviations of each figure above and below its baseline, in σ. ``rows [E + 1, C + 1]``
    maps each of ``entities`` (rows) and ``figures`` (columns) to an index of these, -1 where there is none, as in the last
    row and the last column.
    ``components`` are sorted names. ``families [M, 7]`` holds the largest deviations of each, and ``onset [M]`` when the first
    of its series left its baseline: 0 at the start of the window, 1 at its end or never. ``edges`` are (caller, callee).
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
        """The deviation of a reading at an entity; None when the evidence has no such figure."""
        row = self.rows[self.entities.get(name, -1), self.figures.get((reading.source, reading.metric), -1)]
        return None if row < 0 else float(directed(reading.direction, self.up[row], self.down[row]))

    def largest(self, wanted: Iterable[Reading]) -> dict[Reading, float]:
        """The largest deviation of each reading at any entity; readings without a figure are left out."""
        seen = {r: self.rows[:, self.figures[r.source, r.metric]] for r in wanted if (r.source, r.metric) in self.figures}
        return {r: float(directed(r.direction, self.up[at], self.down[at])[at >= 0].max()) for r, at in seen.items()}

    def figures_of(self, names: Sequence[str]) -> tuple[Figure, ...]:
        """The figures of any of these entities; without names, all figures."""
        if not names:
            return tuple(self.figures)
        known = self.rows[[self.entities.get(n, -1) for n in names]].max(axis=0) >= 0
        return tuple(compress(self.figures, known.tolist()))

    @property
    def row(self) -> dict[tuple[str, str, str], int]:
        """The row of each figure, by entity, source and metric."""
        lines = zip(self.entities, self.rows.tolist(), strict=False)
        return {(name, *f): row for name, line in lines for f, row in zip(self.figures, line, strict=False) if row >= 0}


def directed(direction: str, up: NDArray[np.float64], down: NDArray[np.float64]) -> NDArray[np.float64]:
    """The deviation in the bad direction; positive is worse."""
    return up if direction == "up" else down if direction == "down" else np.maximum(up, down)


def index_evidence(evidence: Evidence, noise: Mapping[str, float] | None = None) -> EvidenceIndex:
    """Index all parts of the evidence. ``noise`` is the noise floor of each metric, in its own unit."""
    builder = _EvidenceIndexBuilder()
    for entity in evidence.entities:
        if entity.kind in ("service", "container"):
            builder.component(entity.name)
    _series(builder, evidence, noise or {})
    _spans(builder, evidence)
    _logs(builder, evidence)
    _changes(builder, evidence)
    _features(builder, evidence)
    edges = tuple((e.name.split("->", 1)[0], component(e.name)) for e in evidence.entities if e.kind == "edge" and "->" in e.name)
    return builder.build(edges, frozenset(evidence.missing))


def component(name: str) -> str:
    """The component of an entity: the service of an operation, the callee of an edge, else the entity itself."""
    if "->" in name:
        return name.split("->", 1)[1]
    return name.split(": ", 1)[0]


def components_matrix(view: EvidenceIndex) -> Floats:
    """Per component its squashed families, its rank in each among all components, and its onset: ``[M, 15]``."""
    return np.concatenate([squash(view.families), ranks(view.families), view.onset[:, None]], axis=1)


def neighbours(view: EvidenceIndex, names: Sequence[str]) -> Floats:
    """``[len(names), 4]``: the worst squashed latency and errors among the callees of each, then among its callers; else 0."""
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
    """Sign and logarithm of a deviation; about 1 for 20σ."""
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)) / 3.0, dtype=np.float32)


def ranks(values: Floats) -> Floats:
    """Per column, the share of other rows strictly below: 1 is the largest, ties share the lower rank."""
    n = values.shape[0]
    if n < 2:
        return np.zeros_like(values, dtype=np.float32)
    order = np.sort(values, axis=0)
    below = np.stack([np.searchsorted(order[:, j], values[:, j], side="left") for j in range(values.shape[1])], axis=1)
    return np.asarray(below / (n - 1), dtype=np.float32)


class _EvidenceIndexBuilder:
    """Collects figures and components, then builds the index."""

    def __init__(self) -> None:
        self._entities: list[str] = []
        self._figures: dict[Figure, int] = {}
        self._columns: list[Ints] = []
        self._up: list[Doubles] = []
        self._down: list[Doubles] = []
        self._line: dict[str, int] = {}
        self._raised: list[tuple[int, Ints, Doubles]] = []
        self._onset: list[tuple[str, float]] = []

    def add(self, names: Sequence[str], source: Source, metrics: Sequence[str], up: Doubles, down: Doubles) -> None:
        """Add figures of entities; the last one wins for a duplicate."""
        columns = {m: self._figures.setdefault((source, m), len(self._figures)) for m in dict.fromkeys(metrics)}
        self._entities.extend(names)
        self._columns.append(np.fromiter(map(columns.__getitem__, metrics), np.int64, len(names)))
        self._up.append(up)
        self._down.append(down)

    def component(self, name: str) -> int:
        """The number of a component, new or known."""
        return self._line.setdefault(name, len(self._line))

    def components(self, names: Sequence[str], *, edges: bool = False) -> Ints:
        """The component numbers of entities by name; -1 for an edge, unless ``edges`` counts it for its callee."""
        own = {n: self.component(component(n)) if edges or "->" not in n else -1 for n in dict.fromkeys(names)}
        return np.fromiter(map(own.__getitem__, names), np.int64, len(names))

    def raise_(self, family: str, lines: Ints, deviations: Doubles) -> None:
        """Raise the family deviation of components to at least these values."""
        own = lines >= 0
        self._raised.append((FAMILIES.index(family), lines[own], deviations[own]))

    def add_onsets(self, onsets: Iterable[tuple[str, float]]) -> None:
        """Add when series left their baseline, by entity name; an edge counts for its callee."""
        self._onset.extend(onsets)

    def build(self, edges: tuple[tuple[str, str], ...], missing: frozenset[str]) -> EvidenceIndex:
        """The finished index, components sorted by name."""
        families, onset = np.zeros((len(self._line), len(FAMILIES))), [1.0] * len(self._line)
        for family, lines, deviations in self._raised:
            np.fmax.at(families[:, family], lines, deviations)
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
    found = deviations_of_series(evidence, noise)
    series = list(compress(evidence.series, found.known.tolist()))
    names = [s.entity.name for s in series]
    above, below, onset = found.above[found.known], found.below[found.known], found.onset[found.known]
    builder.add(names, "series", [s.metric for s in series], above, below)
    own = np.array(["." not in s.metric for s in series], dtype=bool)  # those of imported templates speak for them alone
    names, above, below = list(compress(names, own)), above[own], below[own]
    lines = builder.components(names)
    builder.raise_("series_up", lines, above)
    builder.raise_("series_down", lines, below)
    builder.add_onsets((n, at) for n, at in zip(names, onset[own].tolist(), strict=True) if at < 1.0)


def _spans(builder: _EvidenceIndexBuilder, evidence: Evidence) -> None:
    """A service takes the worst of its operations; errors of an edge count for the callee."""
    if not evidence.spans:
        return
    found = deviations_of_spans(evidence)
    names = [s.entity.name for s in evidence.spans]
    component_of = [n if "->" in n else s.service or component(n) for s, n in zip(evidence.spans, names, strict=True)]
    for metric in SPAN_METRICS:
        builder.add(names, "spans", [metric] * len(names), found[metric], -found[metric])
    owners = tuple(dict.fromkeys(o for o in component_of if "->" not in o))
    for metric, family in (("p95_ms", "latency"), ("errors", "errors"), ("self_ms", "self_time")):
        worst = dict.fromkeys(owners, -np.inf)
        for owner, deviation in zip(component_of, found[metric].tolist(), strict=True):
            if owner in worst:
                worst[owner] = max(worst[owner], deviation)
        reached = np.array(list(worst.values()))
        builder.add(owners, "spans", [metric] * len(owners), reached, -reached)
        builder.raise_(family, builder.components(component_of, edges=family == "errors"), found[metric])


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
    seconds, past = evidence.window.seconds, evidence.baseline_of("logs").seconds
    now, before = np.array(list(counts.values()), dtype=float).reshape(-1, 2).T
    deviations = count_deviation(before, past, now, seconds)
    builder.add([name for name, _ in counts], "logs", [kind for _, kind in counts], deviations, -deviations)
    problems = [kind == "problems" for _, kind in counts]
    builder.raise_(
        "logs", builder.components([name for name, _ in compress(counts, problems)]), deviations[np.array(problems, dtype=bool)]
    )


def _changes(builder: _EvidenceIndexBuilder, evidence: Evidence) -> None:
    names = [c.entity.name for c in evidence.changes]
    far, none = change_deviations(evidence), np.zeros(len(names))
    builder.add(names, "changes", [c.field for c in evidence.changes], far, none)
    builder.add(names, "changes", [""] * len(names), far, none)
    builder.raise_("changes", builder.components(names), far)
    absent = [a.entity.name for a in unrecorded_absences(evidence)]
    gone = np.full(len(absent), CHANGED)
    builder.add(absent, "changes", ["absent"] * len(absent), gone, np.zeros(len(absent)))
    builder.raise_("changes", builder.components(absent), gone)


def unrecorded_absences(evidence: Evidence) -> tuple[Absence, ...]:
    """What went away by its signals or by what others log of it: of what changed its state there is a change already."""
    return tuple(a for a in absences(evidence) if a.told_by not in ("state", "answers"))


def change_deviations(evidence: Evidence) -> Doubles:
    """``[changes]``: how unusual each change is, in σ: less, the more often its entity changed so before the window."""
    usual = Counter((c.entity, c.field) for c in evidence.changes if c.at < evidence.window.start)
    before = [c.at < evidence.window.start for c in evidence.changes]
    repeated = [usual[c.entity, c.field] - early for c, early in zip(evidence.changes, before, strict=True)]
    return np.asarray(CHANGED / (1.0 + np.array(repeated, dtype=float)))


def _features(builder: _EvidenceIndexBuilder, evidence: Evidence) -> None:
    """A service takes the worst of its operations, unless it has a feature of that name itself."""
    names, metrics = [f.entity.name for f in evidence.features], [f.name for f in evidence.features]
    deviations = feature_deviations(evidence.features)
    reached: dict[tuple[str, str], tuple[float, float]] = {}
    for name, metric, deviation in zip(names, metrics, deviations.tolist(), strict=True):
        if "->" not in name and (owner := component(name)) != name:
            up, down = reached.get((owner, metric), (-np.inf, -np.inf))
            reached[owner, metric] = max(up, deviation), max(down, -deviation)
    owners = np.array(list(reached.values())).reshape(-1, 2)
    builder.add([owner for owner, _ in reached], "features", [metric for _, metric in reached], owners[:, 0], owners[:, 1])
    builder.add(names, "features", metrics, deviations, -deviations)
    lines = builder.components(names)
    builder.raise_("series_up", lines, deviations)
    builder.raise_("series_down", lines, -deviations)
