"""Results from traces: slow spans, failed spans, long traces, self time, repeated calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from revelio.support.anomaly import count_deviation, deviation, explain, signal
from revelio.support.numbers import format_count, format_duration
from revelio.tools.base import Scope
from revelio.tools.history import before_words
from revelio.tools.traces.model import STATUS_TAGS, Trace, TraceSpan
from revelio.tools.traces.slowness import slowdown
from revelio.types import Cell, Result, Window

MAX_ROWS = 30
MORE_CALLS = 3.0
"""Noise floor of the calls in one request."""


@dataclass(frozen=True, slots=True)
class TraceQuestion:
    """One look at traces: which are asked for (of every service where none is named), and what is read from them."""

    view: str
    service: str | None = None
    operation: str | None = None
    peer: str | None = None
    min_duration: str = ""
    tags: tuple[tuple[str, str], ...] = ()

    def holds(self, span: TraceSpan) -> bool:
        """Whether the question is about this span."""
        return (
            (self.service is None or span.service == self.service)
            and (self.operation is None or span.operation == self.operation)
            and (self.peer is None or span.peer == self.peer)
        )


@dataclass(frozen=True)
class TraceSample:
    """Spans that ended in one window, and all traces read."""

    traces: tuple[Trace, ...] = ()
    spans: tuple[TraceSpan, ...] = ()

    @cached_property
    def weights(self) -> dict[str, float]:
        """By the id of a trace, how many it stands for."""
        return {t.id: t.weight for t in self.traces}

    def count(self, spans: Iterable[TraceSpan]) -> float:
        """How many spans there are in the whole window, by those that were read of them."""
        return sum(self.weights[s.trace] for s in spans)

    def about(self, question: TraceQuestion) -> list[TraceSpan]:
        """The spans that the question is about."""
        return [s for s in self.spans if question.holds(s)]

    def trace_of(self, span: TraceSpan) -> Trace:
        """The trace that a span belongs to."""
        return next(t for t in self.traces if t.id == span.trace)


@dataclass(frozen=True, slots=True)
class Fetched:
    """Traces that began in one window, as the backend gave them: all, or a sample in which each has its weight."""

    traces: tuple[Trace, ...] = ()

    @classmethod
    def sample(cls, traces: Iterable[Trace], weight: float) -> Fetched:
        """Traces that each stand for as many."""
        return cls(tuple(replace(t, weight=max(1.0, weight)) for t in traces))

    @property
    def whole(self) -> bool:
        """Whether no trace was left out."""
        return all(t.weight <= 1.0 for t in self.traces)

    def joined(self, other: Fetched) -> Fetched:
        """Both together; a trace that came twice is kept with the most spans, and counts as in the fuller sample."""
        by_id = {t.id: t for t in self.traces}
        for trace in other.traces:
            known = by_id.get(trace.id, trace)
            fuller = trace if len(known.spans) < len(trace.spans) else known
            by_id[trace.id] = replace(fuller, weight=min(known.weight, trace.weight))
        return Fetched(tuple(by_id.values()))


def divide(older: Fetched, newer: Fetched, scope: Scope) -> tuple[TraceSample, TraceSample]:
    """Baseline and window, every span in the one in which it ended: what was held up in the window began before it.

    Spans that ended later were not known at the window's end and are left out.
    """
    traces = older.joined(newer).traces
    spans = [s for t in traces for s in t.spans]
    before = tuple(s for s in spans if scope.baseline.start <= s.end < scope.window.start)
    now = tuple(s for s in spans if scope.window.start <= s.end <= scope.window.end)
    return TraceSample(traces, before), TraceSample(traces, now)


def slow(question: TraceQuestion, before: TraceSample, now: TraceSample, scope: Scope) -> Result:
    """Durations by operation, now and before, and the trace with the slowest span."""
    older, newer = _by_operation(before.about(question)), _by_operation(now.about(question))
    if not newer:
        return _nothing(older)
    judged = {name: _slowdown(older.get(name, []), spans, scope) for name, spans in newer.items()}
    worst = max(judged, key=lambda name: (judged[name], sum(s.duration_ms for s in newer[name])))
    slowest = max(newer[worst], key=lambda s: s.duration_ms)
    rows = [
        (name, len(spans), *_quantiles(spans), *_quantiles(older.get(name, [])))
        for name, spans in sorted(newer.items(), key=lambda pair: (-judged[pair[0]], pair[0]))
    ]
    was = format_duration(_p95(older[worst])) if worst in older else "not seen"
    return Result(
        summary=f"{worst}: p95 {format_duration(_p95(newer[worst]))} now, {was} before",
        signal=signal(judged[worst]),
        reason=explain(judged[worst]),
        kind="operations",
        columns=("operation", "spans", "median ms", "p95 ms", "median ms before", "p95 ms before"),
        roles=("operation", "spans", "", "now", "", "before"),
        rows=tuple(rows[:MAX_ROWS]),
        spans=now.trace_of(slowest).waterfall(),
        truncated=len(rows) > MAX_ROWS,
    )


def errors(question: TraceQuestion, before: TraceSample, now: TraceSample, scope: Scope) -> Result:
    """Failed spans, how many now and before, and one failed trace."""
    older = [s for s in before.about(question) if s.error]
    newer = [s for s in now.about(question) if s.error]
    count, past = now.count(newer), before.count(older)
    distance = count_deviation(past, scope.baseline.seconds, count, scope.window.seconds)
    newest = sorted(newer, key=lambda s: -s.start)
    return Result(
        summary=f"{format_count(count, 'failed span')} in {scope.window.seconds:.0f} s, {past:.0f} {before_words(scope)}",
        signal=signal(distance),
        reason=explain(distance),
        kind="spans",
        columns=("at", "operation", "peer", "ms", "status"),
        roles=("at", "operation", "", "", ""),
        rows=tuple((s.start, s.operation, s.peer, round(s.duration_ms, 1), _status(s)) for s in newest[:MAX_ROWS]),
        spans=now.trace_of(newest[0]).waterfall() if newest else (),
        truncated=len(newest) > MAX_ROWS,
    )


def long(question: TraceQuestion, before: TraceSample, now: TraceSample, scope: Scope) -> Result:
    """Traces over the duration that was asked for."""
    longest = sorted(_ended(now, scope.window), key=lambda t: -t.duration_ms)
    count, past = (sum(t.weight for t in of) for of in (longest, _ended(before, scope.baseline)))
    distance = count_deviation(past, scope.baseline.seconds, count, scope.window.seconds)
    return Result(
        summary=f"{format_count(count, 'trace')} over {question.min_duration} in {scope.window.seconds:.0f} s, "
        f"{past:.0f} {before_words(scope)}",
        signal=signal(distance),
        reason=explain(distance),
        kind="spans",
        columns=("at", "request", "ms", "spans", "errors"),
        roles=("at", "", "", "", ""),
        rows=tuple(
            (t.start, t.spans[0].operation, round(t.duration_ms, 1), len(t.spans), sum(s.error for s in t.spans))
            for t in longest[:MAX_ROWS]
        ),
        spans=longest[0].waterfall() if longest else (),
        truncated=len(longest) > MAX_ROWS,
    )


def own_time(question: TraceQuestion, before: TraceSample, now: TraceSample, scope: Scope) -> Result:
    """Self time: by operation of one service, or by service when none was named."""
    older, newer = _own(question, before), _own(question, now)
    if not newer:
        return _nothing(older)
    judged = {
        name: slowdown(_self(older.get(name, [])), _self(spans), scope.baseline, scope.window) for name, spans in newer.items()
    }
    worst = max(judged, key=lambda name: (judged[name], _total(newer[name])))
    whole = sum(_total(spans) for spans in newer.values())
    grouped_by: Literal["service", "operation"] = "service" if question.service is None else "operation"
    rows = [
        (name, len(spans), _mean(spans), _mean(older.get(name, [])), round(_total(spans) / max(whole, 1e-9), 3))
        for name, spans in sorted(newer.items(), key=lambda pair: -_total(pair[1]))
    ]
    most = max(newer[worst], key=lambda s: s.self_ms)
    return Result(
        summary=f"{worst}: {format_duration(_mean(newer[worst]))} self time per span now, "
        f"{format_duration(_mean(older[worst])) if worst in older else 'not seen'} before",
        signal=signal(judged[worst]),
        reason=explain(judged[worst]),
        kind="self_time",
        columns=(grouped_by, "spans", "self ms", "self ms before", "share of the time"),
        roles=(grouped_by, "spans", "now", "before", ""),
        rows=tuple(rows[:MAX_ROWS]),
        spans=now.trace_of(most).waterfall(),
        truncated=len(rows) > MAX_ROWS,
    )


def repeated(question: TraceQuestion, before: TraceSample, now: TraceSample, scope: Scope) -> Result:
    """How many such spans one trace has, by the request that it began with: what is asked for row by row is asked for often."""
    older, newer = _each(question, before, scope.baseline), _each(question, now, scope.window)
    called = {name: traces for name, traces in newer.items() if any(traces.values())}
    if not called:
        return _nothing({})
    # A request that is not in the baseline is compared with all that are.
    anything = {identity: calls for traces in older.values() for identity, calls in traces.items()}
    past = {name: older.get(name) or anything for name in called}
    judged = {name: deviation([*past[name].values()], [*traces.values()], "up", MORE_CALLS) for name, traces in called.items()}
    worst = max(judged, key=lambda name: (judged[name], name))
    rows = [
        (name, len(traces), _average(traces), max(traces.values()), _average(past[name]))
        for name, traces in sorted(called.items(), key=lambda pair: (-judged[pair[0]], pair[0]))
    ]
    most = max(called[worst], key=lambda identity: called[worst][identity])
    return Result(
        summary=f"{worst}: {_average(called[worst])} calls a request now, "
        f"{_average(past[worst]) if past[worst] else 'no request seen'} before",
        signal=signal(judged[worst]),
        reason=explain(judged[worst]),
        kind="spans",
        columns=("request", "traces", "calls each", "most calls", "calls each before"),
        roles=("", "", "", "", ""),
        rows=tuple(rows[:MAX_ROWS]),
        spans=next(t for t in now.traces if t.id == most).waterfall(),
        truncated=len(rows) > MAX_ROWS,
    )


View = Callable[[TraceQuestion, TraceSample, TraceSample, Scope], Result]
VIEWS: dict[str, View] = {"slow": slow, "errors": errors, "long": long, "own_time": own_time, "repeated": repeated}


def _ended(sample: TraceSample, window: Window) -> list[Trace]:
    return [t for t in sample.traces if window.start <= t.start + t.duration_ms / 1000.0 < window.end]


def _each(question: TraceQuestion, sample: TraceSample, window: Window) -> dict[str, dict[str, int]]:
    """By request, and by trace: how many spans of it the question is about."""
    groups: dict[str, dict[str, int]] = defaultdict(dict)
    for trace in _ended(sample, window):
        first = trace.spans[0]
        groups[f"{first.service}: {first.operation}"][trace.id] = sum(question.holds(s) for s in trace.spans)
    return groups


def _average(traces: dict[str, int]) -> float:
    return round(sum(traces.values()) / len(traces), 1) if traces else 0.0


def _by_operation(spans: Iterable[TraceSpan]) -> dict[str, list[TraceSpan]]:
    groups: dict[str, list[TraceSpan]] = defaultdict(list)
    for span in spans:
        groups[span.operation].append(span)
    return groups


def _own(question: TraceQuestion, sample: TraceSample) -> dict[str, list[TraceSpan]]:
    if question.service is not None:
        return _by_operation(s for s in sample.about(question) if not s.calls)
    traced = {s.service for s in sample.spans}
    groups: dict[str, list[TraceSpan]] = defaultdict(list)
    for span in sample.spans:
        if not span.calls:
            groups[span.service].append(span)
        elif span.peer and span.peer not in traced:  # a store sends no spans: the time in calls to it is its own
            groups[span.peer].append(span)
    return groups


def _slowdown(older: list[TraceSpan], newer: list[TraceSpan], scope: Scope) -> float:
    before, now = ([(s.end, s.duration_ms) for s in spans] for spans in (older, newer))
    return slowdown(before, now, scope.baseline, scope.window)


def _self(spans: list[TraceSpan]) -> list[tuple[float, float]]:
    return [(s.end, s.self_ms) for s in spans]


def _quantiles(spans: list[TraceSpan]) -> tuple[Cell, Cell]:
    if not spans:
        return None, None
    median, p95 = np.percentile([s.duration_ms for s in spans], [50, 95])
    return round(float(median), 1), round(float(p95), 1)


def _p95(spans: list[TraceSpan]) -> float:
    return float(np.percentile([s.duration_ms for s in spans], 95))


def _total(spans: list[TraceSpan]) -> float:
    return sum(s.self_ms for s in spans)


def _mean(spans: list[TraceSpan]) -> float:
    return round(_total(spans) / len(spans), 2) if spans else 0.0


def _status(span: TraceSpan) -> Cell:
    for tag in STATUS_TAGS:
        if tag in span.tags:
            return span.tags[tag]
    return None


def _nothing(older: dict[str, list[TraceSpan]]) -> Result:
    then = format_count(sum(map(len, older.values())), "span")
    return Result(f"no span in the window, {then} before", 0.0, "nothing to compare", kind="spans")
