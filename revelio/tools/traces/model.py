"""Traces, whichever store they are from, and what can be read from them: peers, self time, figures by operation and by edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np

from revelio.types import Entity, Span, SpanFigures

Tag = str | int | float | bool
_PEER_TAGS = ("peer.service", "server.address", "net.peer.name")
_URL_TAGS = ("url.full", "http.url")
STATUS_TAGS = ("http.response.status_code", "http.status_code", "error.type", "otel.status_description")
READ = frozenset({*_PEER_TAGS, *_URL_TAGS, *STATUS_TAGS, "span.kind", "error", "otel.status_code"})
_CALLS = frozenset({"client", "producer"})


@dataclass(slots=True)
class TraceSpan:
    """One span with those of its tags that are read. ``start`` in Unix seconds; ``self_ms`` is its time outside its children."""

    trace: str
    id: str
    parent: str | None
    service: str
    operation: str
    start: float
    duration_ms: float
    tags: dict[str, Tag]
    peer: str | None = None
    self_ms: float = 0.0

    @property
    def error(self) -> bool:
        """Whether it was marked as failed."""
        return str(self.tags.get("error", "")).lower() == "true" or self.tags.get("otel.status_code") == "ERROR"

    @property
    def end(self) -> float:
        """When it ended, in Unix seconds."""
        return self.start + self.duration_ms / 1000.0

    @property
    def calls(self) -> bool:
        """Whether it is a call to another service."""
        return self.tags.get("span.kind") in _CALLS

    @property
    def entity(self) -> Entity | None:
        """What it is one run of: an operation of its service, or, for a call, the edge to its peer."""
        if not self.calls:
            return Entity("operation", f"{self.service}: {self.operation}")
        return Entity("edge", f"{self.service}->{self.peer}") if self.peer and self.peer != self.service else None


@dataclass(slots=True)
class Trace:
    """The spans of one request, in order of their start. Where only a sample was read, it stands for ``weight`` such traces."""

    id: str
    spans: list[TraceSpan] = field(default_factory=list)
    weight: float = 1.0

    @property
    def start(self) -> float:
        """When its first span began."""
        return self.spans[0].start

    @property
    def duration_ms(self) -> float:
        """From the start of the first span to the end of the last one."""
        return max(s.end - self.start for s in self.spans) * 1000.0

    def waterfall(self, most: int = 300) -> tuple[Span, ...]:
        """Its spans for drawing."""
        known = {s.id for s in self.spans}
        return tuple(
            Span(s.id, s.parent if s.parent in known else None, s.service, s.operation, s.start, s.duration_ms, s.error)
            for s in self.spans[:most]
        )


def relate(trace: Trace) -> Trace:
    """The trace with every span's peer and self time filled in."""
    by_id = {s.id: s for s in trace.spans}
    children: dict[str, list[TraceSpan]] = defaultdict(list)
    for span in trace.spans:
        if span.parent in by_id:
            children[span.parent].append(span)
    for span in trace.spans:
        below = children.get(span.id, [])
        span.self_ms = span.duration_ms - _covered(span, below)
        if span.calls:
            span.peer = next((c.service for c in below if c.service != span.service), None) or _named_peer(span.tags)
    return trace


def _named_peer(tags: dict[str, Tag]) -> str | None:
    for tag in _PEER_TAGS:
        if tags.get(tag):
            return str(tags[tag])
    for tag in _URL_TAGS:
        try:
            host = urlsplit(str(tags.get(tag, ""))).hostname
        except ValueError:
            continue
        if host:
            return host
    return None


def _covered(span: TraceSpan, below: list[TraceSpan]) -> float:
    """Milliseconds of the span during which at least one of its children ran."""
    covered, reached = 0.0, 0.0
    for child in below:  # in order of their start, as the trace's spans are
        begin = max((child.start - span.start) * 1000.0, reached)
        end = min((child.start - span.start) * 1000.0 + child.duration_ms, span.duration_ms)
        if end > begin:
            covered += end - begin
            reached = end
    return min(covered, span.duration_ms)


def figures(spans: Iterable[TraceSpan], weights: Mapping[str, float]) -> SpanFigures:
    """Their figures; each span counts by the weight of its trace."""
    members = list(spans)
    if not members:
        return SpanFigures()
    durations = np.array([s.duration_ms for s in members])
    median, p95 = np.percentile(durations, [50, 95])
    return SpanFigures(
        count=round(sum(weights[s.trace] for s in members)),
        errors=round(sum(weights[s.trace] for s in members if s.error)),
        median_ms=float(median),
        p95_ms=float(p95),
        self_ms=float(np.mean([s.self_ms for s in members])),
    )
