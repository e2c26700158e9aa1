"""Reduces an incident to summary features: a few figures of each entity in baseline and window, no raw telemetry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from statistics import fmean

from revelio.systems.incidents.exchange import Record
from revelio.types import Entity, Evidence, Feature, Series

_SPANS = {"p95_ms": "span_latency_p95", "errors": "span_errors", "count": "span_count"}
_ERRORS = frozenset({"error", "fatal", "critical"})


def summary_features(record: Record) -> Record:
    """The record with only the means of its series, the figures of its spans and the counts of log lines and changes."""
    seen = record.evidence
    features = (*_series(seen), *_spans(seen), *_logs(seen), *_changes(seen))
    return replace(record, evidence=replace(seen, series=(), logs=(), spans=(), changes=(), features=features))


def _series(seen: Evidence) -> Iterator[Feature]:
    for series in seen.series:
        before = _mean(series, seen.baseline.start, seen.baseline.end)
        now = _mean(series, seen.window.start, seen.window.end)
        if before is not None and now is not None:
            yield Feature(series.entity, series.metric, now, before)


def _mean(series: Series, start: float, end: float) -> float | None:
    values = [v for t, v in zip(series.times, series.values, strict=True) if start <= t < end and isfinite(v)]
    return fmean(values) if values else None


def _spans(seen: Evidence) -> Iterator[Feature]:
    for stat in seen.spans:
        for figure, name in _SPANS.items():
            yield Feature(stat.entity, name, float(getattr(stat.now, figure)), float(getattr(stat.before, figure)))


def _logs(seen: Evidence) -> Iterator[Feature]:
    """Counts of lines in the window, and in the baseline scaled to the same duration."""
    longer = seen.window.seconds / seen.baseline.seconds
    counts: dict[tuple[Entity, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for pattern in seen.logs:
        count = counts[pattern.entity, "error_log_lines" if pattern.level.lower() in _ERRORS else "log_lines"]
        count[0] += pattern.count
        count[1] += pattern.baseline_count * longer
    for (entity, name), (now, before) in counts.items():
        yield Feature(entity, name, now, before)


def _changes(seen: Evidence) -> Iterator[Feature]:
    counts: dict[tuple[Entity, str], int] = defaultdict(int)
    for change in seen.changes:
        counts[change.entity, f"{change.field}_changes"] += 1
    for (entity, name), count in counts.items():
        yield Feature(entity, name, float(count), 0.0)
