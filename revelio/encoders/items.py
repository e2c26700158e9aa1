"""The evidence as items: everything that left its baseline, with its words, its place and numbers that have no unit.

Nothing here depends on how a metric is called or what a template declares: its words are matched with those of templates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from revelio.catalog.conventions import signals
from revelio.encoders.cached_deviations import deviations_of_series, deviations_of_spans
from revelio.encoders.deviations import SPAN_METRICS, Doubles, feature_deviations
from revelio.encoders.evidence import CHANGED, change_deviations, squash, unrecorded_absences
from revelio.encoders.report import Floats
from revelio.encoders.words import figure_words
from revelio.support.anomaly import SIGNIFICANT_SIGMA, count_deviation
from revelio.types import Evidence

MOST = 160
"""Items of one incident: those that deviate most."""
_MIN_DEVIATION = 1.0
NUMBERS = (
    *("up", "down", "peers_below", "peers_out", "onset", "count"),
    *("series", "logs", "spans", "changes", "features", "problem", "new", "edge", "operation"),
)
"""The columns of ``Items.numbers``."""
_COLUMN = {name: i for i, name in enumerate(NUMBERS)}
_PROBLEM = re.compile(r"error|warn|fatal|critical|fail|exception|refused|timed? ?out|denied|unable|cannot|exceeded", re.I)


@dataclass(frozen=True, slots=True)
class Items:
    """``words [I]``, the ``entity [I]`` that each was seen at, and ``numbers [I, len(NUMBERS)]``."""

    words: tuple[str, ...]
    entity: tuple[str, ...]
    numbers: Floats


def items(evidence: Evidence, noise: Mapping[str, float] | None = None) -> Items:
    """The items that deviate most. ``noise`` is the noise floor of each metric, in its own unit."""
    builder, meanings = _Builder(), {name: signal.meaning for name, signal in signals().items()}
    _series(builder, evidence, noise or {}, meanings)
    _spans(builder, evidence)
    _logs(builder, evidence)
    _changes(builder, evidence)
    _absences(builder, evidence)
    _features(builder, evidence, meanings)
    return builder.build()


class _Builder:
    def __init__(self) -> None:
        self._words: list[str] = []
        self._entity: list[str] = []
        self._rows: list[Floats] = []
        self._figure: list[str] = []

    def add(
        self,
        source: str,
        figure: Sequence[str],
        words: Sequence[str],
        entity: Sequence[str],
        up: Doubles,
        down: Doubles,
        **more: Doubles,
    ) -> None:
        """Items of one source; ``figure`` groups what may be compared between entities."""
        rows = np.zeros((len(words), len(NUMBERS)), dtype=np.float32)
        rows[:, _COLUMN["onset"]] = 1.0
        rows[:, _COLUMN["up"]], rows[:, _COLUMN["down"]] = squash(up.astype(np.float32)), squash(down.astype(np.float32))
        rows[:, _COLUMN[source]] = 1.0
        rows[:, _COLUMN["edge"]] = ["->" in e for e in entity]
        rows[:, _COLUMN["operation"]] = [": " in e for e in entity]
        for name, values in more.items():
            rows[:, _COLUMN[name]] = values
        self._rows.append(rows)
        self._words.extend(words)
        self._entity.extend(entity)
        self._figure.extend(f"{source} {f}" for f in figure)

    def build(self) -> Items:
        numbers = np.concatenate([*self._rows, np.zeros((0, len(NUMBERS)), dtype=np.float32)])
        largest = np.maximum(numbers[:, 0], numbers[:, 1])
        limit = float(squash(np.array([_MIN_DEVIATION], dtype=np.float32))[0])
        if len(numbers):
            group = np.unique(self._figure, return_inverse=True)[1]
            order = np.lexsort((largest, group))
            first = np.searchsorted(group[order], group)
            total = np.bincount(group)[group]
            place = np.empty(len(group), dtype=np.int64)
            place[order] = np.arange(len(group))
            numbers[:, _COLUMN["peers_below"]] = (place - first) / np.maximum(1, total - 1)
            out = largest >= squash(np.array([SIGNIFICANT_SIGMA], dtype=np.float32))[0]
            numbers[:, _COLUMN["peers_out"]] = (np.bincount(group, weights=out)[group] - out) / np.maximum(1, total - 1)
        chosen = np.argsort(-largest, kind="stable")[:MOST]
        chosen = np.sort(chosen[largest[chosen] >= limit])
        return Items(tuple(self._words[i] for i in chosen), tuple(self._entity[i] for i in chosen), numbers[chosen])


def _series(builder: _Builder, evidence: Evidence, noise: Mapping[str, float], meanings: Mapping[str, str]) -> None:
    found = deviations_of_series(evidence, noise)
    known = list(compress(evidence.series, found.known.tolist()))
    words = {m: f"{figure_words(('series', m))}. {meanings.get(m, '')}".strip() for m in {s.metric for s in known}}
    builder.add(
        "series",
        [s.metric for s in known],
        [words[s.metric] for s in known],
        [s.entity.name for s in known],
        found.above[found.known],
        found.below[found.known],
        onset=found.onset[found.known],
    )


def _spans(builder: _Builder, evidence: Evidence) -> None:
    if not evidence.spans:
        return
    found = deviations_of_spans(evidence)
    names = [s.entity.name for s in evidence.spans]
    for metric in SPAN_METRICS:
        words = [figure_words(("spans", metric))] * len(names)
        builder.add("spans", [metric] * len(names), words, names, found[metric], -found[metric])


def _logs(builder: _Builder, evidence: Evidence) -> None:
    now = np.array([p.count for p in evidence.logs], dtype=float)
    before = np.array([p.baseline_count for p in evidence.logs], dtype=float)
    deviations = count_deviation(before, evidence.baseline_of("logs").seconds, now, evidence.window.seconds)
    span = max(evidence.window.seconds, 1e-9)
    builder.add(
        "logs",
        [""] * len(now),
        [f"{p.level} log line: {p.pattern}" for p in evidence.logs],
        [p.entity.name for p in evidence.logs],
        np.where((now > 0) & (before == 0), np.maximum(deviations, _MIN_DEVIATION), deviations),
        -deviations,
        count=np.log1p(now) / 5.0,
        new=(before == 0).astype(float),
        problem=np.array([bool(_PROBLEM.search(f"{p.level} {p.pattern}")) for p in evidence.logs], dtype=float),
        onset=np.array([min(1.0, max(0.0, (p.first_seen - evidence.window.start) / span)) for p in evidence.logs]),
    )


def _changes(builder: _Builder, evidence: Evidence) -> None:
    fields = [c.field for c in evidence.changes]
    span = max(evidence.window.seconds, 1e-9)
    repeated = Counter((c.entity.name, c.field) for c in evidence.changes)
    builder.add(
        "changes",
        fields,
        [f"{c.field} changed from {c.before[:60]} to {c.after[:100]}" for c in evidence.changes],
        [c.entity.name for c in evidence.changes],
        change_deviations(evidence),
        np.zeros(len(fields)),
        count=np.array([np.log1p(repeated[c.entity.name, c.field]) / 5.0 for c in evidence.changes]),
        onset=np.array([min(1.0, max(0.0, (c.at - evidence.window.start) / span)) for c in evidence.changes]),
        problem=np.array([bool(_PROBLEM.search(f"{c.field} {c.after}")) for c in evidence.changes], dtype=float),
    )


def _absences(builder: _Builder, evidence: Evidence) -> None:
    found, span = unrecorded_absences(evidence), max(evidence.window.seconds, 1e-9)
    builder.add(
        "changes",
        ["absent"] * len(found),
        [f"{a.entity.kind} is absent: {a.words}" for a in found],
        [a.entity.name for a in found],
        np.full(len(found), CHANGED),
        np.zeros(len(found)),
        onset=np.array([min(1.0, max(0.0, (a.at - evidence.window.start) / span)) for a in found]),
        problem=np.ones(len(found)),
    )


def _features(builder: _Builder, evidence: Evidence, meanings: Mapping[str, str]) -> None:
    deviations = feature_deviations(evidence.features)
    names = [f.name for f in evidence.features]
    words = {m: f"{figure_words(('features', m))}. {meanings.get(m, '')}".strip() for m in set(names)}
    builder.add("features", names, [words[n] for n in names], [f.entity.name for f in evidence.features], deviations, -deviations)
