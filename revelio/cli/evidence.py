"""A query's result in the terminal: sparklines for series, a table for rows, a waterfall for a trace."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from revelio.anomaly import PRESENT, split
from revelio.types import Cell, Evidence, Result, Series, Span, Window

_BARS = "▁▂▃▄▅▆▇█"
_POINTS = 24
_MOST_ROWS = 12
_WATERFALL_WIDTH = 44
_UNIX_TIMES = (1e9, 4e9)
"""Floats in a table that lie between these (2001 to 2096) are moments."""


def evidence_view(result: Result, evidence: Evidence) -> RenderableType:
    """Everything that a result holds, longest lists cut."""
    strength = Text(f"signal {result.signal:.2f}", "bold red" if result.signal >= PRESENT else "dim")
    parts: list[RenderableType] = [Text.assemble(strength, f"  {result.summary}")]
    if result.reason and result.reason != result.summary:
        parts.append(Text(result.reason, "dim"))
    if result.series:
        parts.append(_series_grid(result.series, evidence.baseline, evidence.window))
    if result.spans:
        parts += waterfall(result.spans)
    elif result.rows:
        parts.append(_rows_grid(result))
    left_out = max(0, len(result.rows) - _MOST_ROWS) if not result.spans else 0
    if left_out or result.truncated:
        more = f"{left_out} more rows" if left_out else "the backend had more than the row limit"
        parts.append(Text(f"… {more}; --json prints all that was read", "dim"))
    return Group(*parts)


def sparkline(series: Series, baseline: Window, window: Window) -> str:
    """Baseline and window as bars on one scale with ``│`` between; at most 24 bars a side, each a mean."""
    before, now = split(series.times, series.values, baseline, window)
    before, now = _squeeze(before), _squeeze(now)
    finite = [v for v in (*before, *now) if math.isfinite(v)]
    low, high = (min(0.0, *finite), max(finite)) if finite else (0.0, 0.0)
    return f"{_bars(before, low, high)}│{_bars(now, low, high)}"


def waterfall(spans: Sequence[Span]) -> Iterator[Text]:
    """One line a span: its place in the call tree and its stretch of the trace's time."""
    start = min(s.start for s in spans)
    total = max(1e-9, *(s.start - start + s.duration_ms / 1000.0 for s in spans))
    for span, depth in _call_order(spans):
        left = int((span.start - start) / total * _WATERFALL_WIDTH)
        width = max(1, round(span.duration_ms / 1000.0 / total * _WATERFALL_WIDTH))
        bar = " " * left + "█" * min(width, _WATERFALL_WIDTH - left)
        name = f"{'  ' * depth}{span.service} {span.operation}"
        line = Text(f"{name[:44]:<44} ")
        line.append(f"{bar:<{_WATERFALL_WIDTH}}", "red" if span.error else "cyan")
        line.append(f" {span.duration_ms:9.1f} ms")
        if span.error:
            line.append("  error", "bold red")
        yield line


def figure(value: float) -> str:
    """A number as a person would write it: three significant digits."""
    if not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _series_grid(series: Sequence[Series], baseline: Window, window: Window) -> Table:
    grid = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        grid.add_column(overflow="fold")
    for one in series[:_MOST_ROWS]:
        before, now = split(one.times, one.values, baseline, window)
        change = f"{figure(_mean(before))} → {figure(_mean(now))} {one.unit}".rstrip()
        grid.add_row(Text(f"{one.entity.name} {one.metric}"), Text(sparkline(one, baseline, window), "cyan"), Text(change))
    return grid


def _rows_grid(result: Result) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in result.columns:
        grid.add_column(Text(name), overflow="fold")
    for row in result.rows[:_MOST_ROWS]:
        grid.add_row(*(Text(_written(cell)) for cell in row))
    return grid


def _written(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return time.strftime("%H:%M:%S", time.localtime(cell)) if _UNIX_TIMES[0] < cell < _UNIX_TIMES[1] else figure(cell)
    return str(cell).strip()


def _call_order(spans: Sequence[Span]) -> Iterator[tuple[Span, int]]:
    """Depth first by start time; a span whose parent is not among them starts a tree of its own."""
    known = {s.id for s in spans}
    children: dict[str | None, list[Span]] = defaultdict(list)
    for span in sorted(spans, key=lambda s: -s.start):
        children[span.parent if span.parent in known else None].append(span)
    stack = [(s, 0) for s in children[None]]
    while stack:
        span, depth = stack.pop()
        yield span, depth
        stack += [(child, depth + 1) for child in children.pop(span.id, [])]


def _squeeze(values: Sequence[float]) -> list[float]:
    if len(values) <= _POINTS:
        return list(values)
    edges = [round(i * len(values) / _POINTS) for i in range(_POINTS + 1)]
    return [_mean(values[a:b]) for a, b in pairwise(edges)]


def _mean(values: Sequence[float]) -> float:
    finite = [v for v in values if math.isfinite(v)]
    return sum(finite) / len(finite) if finite else math.nan


def _bars(values: Sequence[float], low: float, high: float) -> str:
    reach = high - low
    top = len(_BARS) - 1
    return "".join(" " if not math.isfinite(v) else _BARS[round((v - low) / reach * top) if reach > 0 else 0] for v in values)
