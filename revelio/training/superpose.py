"""Two faults at once, made of two recorded incidents of one system: evidence alone cannot name the cause, the report decides.

Most recordings hold one fault in a quiet system, so that training on them alone teaches to ignore the report. Superposed
incidents are for training only: no figure is ever measured on them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from revelio.encoders.deviations import Doubles, series_deviations, span_deviations
from revelio.support.anomaly import SIGNIFICANT_SIGMA, count_deviation
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.systems.incidents.exchange import Record, Report
from revelio.types import Evidence, LogPattern, RecordedResult, Series, SpanStat, Window

WELL = "ok"
"""The outcome of a visit to a feature that works."""
MOST_REPORTS = 3
"""Reports of a superposed incident that are used."""
WHOLE_SITE = "_site"
"""The feature of reports that complain of everything."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Superposed:
    """An incident with the evidence of two, the reports and labels of the first, and the ids of both."""

    incident: LabelledIncident
    parts: tuple[str, str]


def superposed(incidents: Iterable[LabelledIncident], partners: int = 1) -> Iterator[Superposed]:
    """Each faulty incident with up to so many others of its system whose users complain of other features.

    The draw depends on the incidents' ids alone.
    """
    by_system: dict[tuple[str, str], list[LabelledIncident]] = {}
    for labelled in incidents:
        record = labelled.record
        if labelled.grades and record.notes and not record.candidates and not record.run:
            by_system.setdefault((record.system, record.catalog), []).append(labelled)
    for group in by_system.values():
        for first in group:
            for second in _partners(first, group)[:partners]:
                record = superpose(first.record, second.record)
                yield Superposed(replace(first, record=record), (first.record.id, second.record.id))


def superpose(first: Record, second: Record) -> Record:
    """The first incident with the second one's fault in force as well, which its own users do not complain of.

    Each figure is taken from the incident in which it deviates more; lines and changes of both are there. What is accepted for
    the other fault alone is not accepted.
    """
    window, baseline = first.evidence.window, first.evidence.baseline
    other = _moved(second.evidence, window.start - second.evidence.window.start)
    mine = first.evidence
    evidence = replace(
        mine,
        entities=tuple(dict.fromkeys((*mine.entities, *other.entities))),
        series=_further(mine.series, other.series, lambda s: (s.entity, s.metric), lambda some: _series(some, baseline, window)),
        spans=_further(mine.spans, other.spans, lambda s: s.entity, lambda some: _spans(some, baseline, window)),
        logs=_further(
            mine.logs, other.logs, lambda p: (p.entity, p.level, p.pattern), lambda some: _lines(some, baseline, window)
        ),
        changes=tuple(sorted({*mine.changes, *other.changes}, key=lambda c: (c.at, c.entity, c.field))),
        missing=tuple(dict.fromkeys((*mine.missing, *other.missing))),
    )
    return replace(
        first,
        id=f"{first.id}+{second.id}",
        evidence=evidence,
        reports=_about_first(first, second)[:MOST_REPORTS],
        results=_results(first, second),
        notes=(),
    )


def _partners(first: LabelledIncident, group: Sequence[LabelledIncident]) -> list[LabelledIncident]:
    def order(other: LabelledIncident) -> bytes:
        return hashlib.sha256(f"{first.record.id}+{other.record.id}".encode()).digest()

    return [o for o in sorted(group, key=order) if _apart(first.record, o.record)]


def _apart(first: Record, second: Record) -> bool:
    """Whether the faults are at different places, and some report of the first is about what the second leaves alone."""
    a, b = first.fault, second.fault
    return a is not None and b is not None and a.place != b.place and a.kind != b.kind and bool(_about_first(first, second))


def _about_first(first: Record, second: Record) -> tuple[Report, ...]:
    start = second.evidence.window.start
    hurt = {n.feature for n in second.notes if n.at >= start and n.outcome != WELL} | {WHOLE_SITE}
    return tuple(r for r in first.reports if r.cell.count("/") and r.cell.split("/")[1] not in hurt)


def _moved(evidence: Evidence, seconds: float) -> Evidence:
    """The evidence as if it had been recorded so many seconds later."""
    series = tuple(replace(s, times=tuple(t + seconds for t in s.times)) for s in evidence.series)
    spans = tuple(
        s if s.first_error_at is None else replace(s, first_error_at=s.first_error_at + seconds) for s in evidence.spans
    )
    logs = tuple(replace(p, first_seen=p.first_seen + seconds) for p in evidence.logs)
    changes = tuple(replace(c, at=c.at + seconds) for c in evidence.changes)
    return replace(evidence, series=series, spans=spans, logs=logs, changes=changes)


def _further(
    mine: Sequence[T], other: Sequence[T], key: Callable[[T], Hashable], deviations: Callable[[Sequence[T]], Doubles]
) -> tuple[T, ...]:
    """Of each figure that both have, the other's where it is significant and larger; and what only one has."""
    far = dict(zip(map(key, mine), deviations(mine).tolist(), strict=True))
    theirs = {
        key(x): x
        for x, d in zip(other, deviations(other).tolist(), strict=True)
        if d > max(SIGNIFICANT_SIGMA, far.get(key(x), 0.0))
    }
    missing = [x for x in other if key(x) not in far]
    return (*(theirs.get(key(x), x) for x in mine), *missing)


def _series(some: Sequence[Series], baseline: Window, window: Window) -> Doubles:
    if not some:
        return np.zeros(0)
    found = series_deviations(some, baseline, window, np.zeros(len(some)))
    return np.where(found.known, np.maximum(found.above, found.below), 0.0)


def _spans(some: Sequence[SpanStat], baseline: Window, window: Window) -> Doubles:
    return np.asarray(np.max([np.abs(values) for values in span_deviations(some, baseline, window).values()], axis=0))


def _lines(some: Sequence[LogPattern], baseline: Window, window: Window) -> Doubles:
    now = np.array([p.count for p in some], dtype=float)
    before = np.array([p.baseline_count for p in some], dtype=float)
    return count_deviation(before, baseline.seconds, now, window.seconds)


def _results(first: Record, second: Record) -> tuple[RecordedResult, ...]:
    """Of each query the result that points at a fault more strongly."""
    found = {(r.template, r.bindings): r for r in second.results}
    for r in first.results:
        other = found.get((r.template, r.bindings))
        if other is None or other.result.signal <= r.result.signal:
            found[r.template, r.bindings] = r
    return tuple(found.values())
