"""What several sources say, as one: their evidence, and their results of one query."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from revelio.tools.base import Scope
from revelio.types import Evidence, LogPattern, Result, Series, Source, SpanStat

T = TypeVar("T")

_OBSERVED: Mapping[Source, Callable[[Evidence], object]] = {
    "series": lambda part: part.series,
    "logs": lambda part: part.logs,
    "spans": lambda part: part.spans,
}
"""The kinds of evidence that compare a window with a baseline."""


def merge(scope: Scope, parts: Iterable[Evidence], missing: tuple[str, ...] = ()) -> Evidence:
    """One evidence of all parts, in a stable order.

    What two sources of one kind both hold counts once: of a series and of an operation the fuller one is taken, and the lines
    of a log pattern are added. Of a kind of evidence, the shortest history of its sources counts.
    """
    parts = tuple(parts)
    return Evidence(
        window=scope.window,
        baseline=scope.baseline,
        entities=tuple(sorted({e for p in parts for e in p.entities})),
        series=_fullest((((s.entity, s.metric), s) for p in parts for s in p.series), _points),
        logs=_added(x for p in parts for x in p.logs),
        spans=_fullest(((s.entity, s) for p in parts for s in p.spans), _spans),
        changes=tuple(sorted({c for p in parts for c in p.changes}, key=lambda c: (c.at, c.entity, c.field))),
        features=tuple(f for p in parts for f in p.features),
        missing=missing,
        history=tuple(_history(scope, parts)),
    )


def _history(scope: Scope, parts: tuple[Evidence, ...]) -> Iterator[tuple[Source, float]]:
    """Since when each kind of evidence was observed, where that was not from the start of the baseline."""
    for kind, of in _OBSERVED.items():
        since = max((p.baseline.start for p in parts if of(p)), default=scope.baseline.start)
        if since > scope.baseline.start:
            yield kind, since


def join(results: Mapping[str, Result]) -> Result:
    """One result of what each source gave, by its name: that of the highest signal, with the rows and series of its like.

    Only results of one kind and with the same columns are put together. Where several hold something, each summary names its
    source.
    """
    holding = {n: r for n, r in results.items() if r.rows or r.series or r.spans} or results
    first = max(holding.values(), key=lambda r: r.signal)
    alike = {n: r for n, r in holding.items() if (r.kind, r.columns) == (first.kind, first.columns)}
    return replace(
        first,
        summary="; ".join(f"{n}: {r.summary}" for n, r in holding.items()) if len(holding) > 1 else first.summary,
        rows=tuple(row for r in alike.values() for row in r.rows),
        series=tuple(s for r in alike.values() for s in r.series),
        truncated=any(r.truncated for r in holding.values()),
    )


def _points(series: Series) -> int:
    return len(series.times)


def _spans(stat: SpanStat) -> int:
    return stat.now.count + stat.before.count


def _fullest(named: Iterable[tuple[Hashable, T]], size: Callable[[T], int]) -> tuple[T, ...]:
    found: dict[Hashable, T] = {}
    for key, one in named:
        if key not in found or size(one) > size(found[key]):
            found[key] = one
    return tuple(found.values())


def _added(patterns: Iterable[LogPattern]) -> tuple[LogPattern, ...]:
    found: dict[Hashable, LogPattern] = {}
    for one in patterns:
        key = one.entity, one.level, one.pattern
        known = found.get(key)
        found[key] = (
            one
            if known is None
            else replace(
                known if known.first_seen <= one.first_seen else one,
                count=known.count + one.count,
                baseline_count=known.baseline_count + one.baseline_count,
            )
        )
    return tuple(found.values())
