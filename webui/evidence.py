"""A result as a page shows it: charts with a table beside each, a table of rows, a waterfall of spans."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from revelio.anomaly import PRESENT, split
from revelio.types import Cell, Evidence, Result, Series, Span, Window
from webui import wording

MAX_LINES = 8
"""Lines in one chart; more cannot be told apart."""
MAX_SPANS = 80
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Line:
    """One series in figures: its median before and now, and its extreme now."""

    name: str
    before: str
    now: str
    highest: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Series of one unit. ``data`` is JSON for the chart script; ``lines`` and ``moments`` say the same in tables."""

    title: str
    data: str
    lines: tuple[Line, ...]
    names: tuple[str, ...]
    moments: tuple[tuple[str, ...], ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One span in the waterfall; ``start`` and ``width`` in percent of the trace, ``depth`` in levels."""

    service: str
    operation: str
    depth: int
    start: float
    width: float
    duration: str
    error: bool


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """What running a query showed. ``lit`` when its signal counts as present; ``numeric`` says which columns hold figures."""

    summary: str
    reason: str
    signal: float
    lit: bool
    charts: tuple[Chart, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: tuple[bool, ...]
    bars: tuple[Bar, ...]
    spans_left_out: int
    truncated: bool
    took: str


def evidence_view(result: Result, evidence: Evidence) -> EvidenceView:
    """The view of a result of a query that was run in the evidence's window."""
    width = max([len(result.columns), *(len(row) for row in result.rows)])
    rows = tuple((*row, *(None,) * (width - len(row))) for row in result.rows)
    return EvidenceView(
        summary=result.summary,
        reason=result.reason,
        signal=result.signal,
        lit=result.signal >= PRESENT,
        charts=tuple(_charts(result.series, evidence.baseline, evidence.window)),
        columns=(*result.columns, *("",) * (width - len(result.columns))),
        rows=rows,
        numeric=tuple(_numeric(row[i] for row in rows) for i in range(width)),
        bars=_waterfall(result.spans),
        spans_left_out=max(0, len(result.spans) - MAX_SPANS),
        truncated=result.truncated,
        took=wording.duration(result.took_ms),
    )


def _charts(series: tuple[Series, ...], baseline: Window, window: Window) -> Iterable[Chart]:
    groups: dict[str, list[Series]] = {}
    for one in series:
        groups.setdefault(one.unit, []).append(one)
    for unit, members in groups.items():
        yield _chart(unit, members, baseline, window)


def _chart(unit: str, members: list[Series], baseline: Window, window: Window) -> Chart:
    shown = members[:MAX_LINES]
    common, names = _names(shown)
    times = sorted({t for s in shown for t in s.times})
    columns = [dict(zip(s.times, s.values, strict=True)) for s in shown]
    values = [[_finite(c.get(t)) for t in times] for c in columns]
    data = {
        "times": [round(t - window.end, 3) for t in times],
        "lines": [{"name": n, "values": v} for n, v in zip(names, values, strict=True)],
        "unit": unit,
        "baseline": [baseline.start - window.end, baseline.end - window.end],
        "window": [window.start - window.end, 0.0],
    }
    moments = tuple(
        (wording.offset(t - window.end), *(wording.figure(column[i], unit, bare=True) for column in values))
        for i, t in enumerate(times)
    )
    lines = tuple(_line(name, s, baseline, window) for name, s in zip(names, shown, strict=True))
    return Chart(
        ", ".join(part for part in (common, unit) if part),
        json.dumps(data, allow_nan=False),
        lines,
        names,
        moments,
        len(members) - len(shown),
    )


def _names(series: list[Series]) -> tuple[str, tuple[str, ...]]:
    """What all have in common, as the chart's title, and what tells each from the others."""
    metrics = [_spoken(s.metric) for s in series]
    entities = [s.entity.name for s in series]
    if len(set(metrics)) == 1:
        return metrics[0], tuple(entities)
    if len(set(entities)) == 1:
        first = _spoken(series[0].metric.split(" ")[0])
        if all(m.startswith(f"{first} ") for m in metrics):
            return f"{first} of {entities[0]}", tuple(m.removeprefix(f"{first} ") for m in metrics)
        return entities[0], tuple(metrics)
    return "", tuple(f"{e}: {m}" for e, m in zip(entities, metrics, strict=True))


def _spoken(metric: str) -> str:
    """A metric's name without underscores; the labels that follow it stay as they are."""
    name, space, labels = metric.partition(" ")
    return name.replace("_", " ") + space + labels


def _line(name: str, series: Series, baseline: Window, window: Window) -> Line:
    before, now = split(series.times, series.values, baseline, window)
    past = [v for v in before if math.isfinite(v)]
    present = [v for v in now if math.isfinite(v)]
    return Line(
        name,
        wording.figure(median(past) if past else None, series.unit, bare=True),
        wording.figure(median(present) if present else None, series.unit, bare=True),
        wording.figure(max(present, default=None), series.unit, bare=True),
    )


def _waterfall(spans: tuple[Span, ...]) -> tuple[Bar, ...]:
    """Spans in call order, each under its parent; a span whose parent is not here is a root."""
    if not spans:
        return ()
    begin = min(s.start for s in spans)
    whole = max(max(s.start + s.duration_ms / 1000.0 for s in spans) - begin, 1e-6)
    ids = {s.id for s in spans}
    children: dict[str | None, list[Span]] = {}
    for span in sorted(spans, key=lambda s: s.start):
        children.setdefault(span.parent if span.parent in ids and span.parent != span.id else None, []).append(span)
    waiting = [(s, 0) for s in reversed(children.get(None, []))]
    bars: list[Bar] = []
    while waiting and len(bars) < MAX_SPANS:
        span, depth = waiting.pop()
        start = 100.0 * (span.start - begin) / whole
        width = min(max(span.duration_ms / 10.0 / whole, 0.4), 100.0 - start)
        bars.append(
            Bar(
                span.service,
                span.operation,
                min(depth, _MAX_DEPTH),
                round(start, 2),
                round(max(width, 0.4), 2),
                wording.duration(span.duration_ms),
                span.error,
            )
        )
        waiting.extend((child, depth + 1) for child in reversed(children.get(span.id, [])))
    return tuple(bars)


def _numeric(cells: Iterable[Cell]) -> bool:
    known = [c for c in cells if c is not None]
    return bool(known) and all(
        isinstance(c, (int, float)) and not isinstance(c, bool) and not wording.is_moment(c) for c in known
    )


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
