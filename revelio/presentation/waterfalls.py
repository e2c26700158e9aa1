"""The spans of one trace as a waterfall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from revelio.presentation.panels import Bar, Waterfall
from revelio.types import Span

Mark = Literal["", "failed", "origin", "slow"]
MAX_SPANS = 80
MAX_DEPTH = 8
SLOW_SHARE = 0.25
"""A span is the slow one when its own time is at least this much of the trace."""


def waterfall(spans: Sequence[Span]) -> Waterfall | None:
    """The trace in call order; a span whose parent is missing starts another tree. None without spans."""
    if not spans:
        return None
    begin = min(s.start for s in spans)
    whole = max(max(s.start + s.duration_ms / 1000.0 for s in spans) - begin, 1e-6)
    children = _children(spans)
    own = {s.id: own_ms(s, children.get(s.id, ())) for s in spans}
    marks = _marks(spans, children, own, whole)
    ordered = list(_call_order(children))
    bars = tuple(
        Bar(
            service=span.service,
            operation=span.operation,
            depth=min(depth, MAX_DEPTH),
            start=(span.start - begin) / whole,
            width=min(span.duration_ms / 1000.0 / whole, 1.0),
            duration_ms=span.duration_ms,
            own_ms=own[span.id],
            mark=marks.get(span.id, ""),
        )
        for span, depth in ordered[:MAX_SPANS]
    )
    return Waterfall(bars, whole * 1000.0, len(spans) - len(bars))


def own_ms(span: Span, below: Sequence[Span]) -> float:
    """Milliseconds of a span during which none of its children ran."""
    covered, reached = 0.0, 0.0
    for child in sorted(below, key=lambda s: s.start):
        offset = (child.start - span.start) * 1000.0
        begin, end = max(offset, reached, 0.0), min(offset + child.duration_ms, span.duration_ms)
        if end > begin:
            covered += end - begin
            reached = end
    return max(0.0, span.duration_ms - covered)


def _marks(
    spans: Sequence[Span], children: Mapping[str | None, Sequence[Span]], own: Mapping[str, float], whole: float
) -> dict[str, Mark]:
    marks: dict[str, Mark] = {}
    slowest = max(spans, key=lambda s: own[s.id])
    if own[slowest.id] >= SLOW_SHARE * whole * 1000.0:
        marks[slowest.id] = "slow"
    for span in spans:
        if span.error:
            marks[span.id] = "failed" if any(child.error for child in children.get(span.id, ())) else "origin"
    return marks


def _children(spans: Sequence[Span]) -> dict[str | None, list[Span]]:
    known = {s.id for s in spans}
    children: dict[str | None, list[Span]] = {}
    for span in sorted(spans, key=lambda s: s.start):
        parent = span.parent if span.parent in known and span.parent != span.id else None
        children.setdefault(parent, []).append(span)
    return children


def _call_order(children: Mapping[str | None, Sequence[Span]]) -> Iterator[tuple[Span, int]]:
    """Depth first by start time. Spans in a cycle of parents are left out."""
    waiting = [(span, 0) for span in reversed(children.get(None, ()))]
    while waiting:
        span, depth = waiting.pop()
        yield span, depth
        waiting.extend((child, depth + 1) for child in reversed(children.get(span.id, ())))
