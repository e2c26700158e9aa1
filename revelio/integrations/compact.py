"""A result in a few lines of plain text, for places that cannot draw."""

from __future__ import annotations

import math
from collections.abc import Sequence

from revelio.types import Cell, Result, Series, Span

_BARS = "▁▂▃▄▅▆▇█"
_STEPS = 24


def compact(result: Result, *, rows: int = 6, width: int = 28) -> str:
    """Rows, series or spans of a result, at most ``rows`` of them, cells at most ``width`` characters; "" when it has none."""
    if result.series:
        shown, there = _curves(result.series[:rows], width), len(result.series)
    elif result.spans:
        shown, there = _tree(result.spans, rows, width), len(result.spans)
    elif result.rows:
        shown, there = _table(result.columns, result.rows[:rows], width), len(result.rows)
    else:
        return ""
    if there > rows:
        shown.append(f"… {there - rows} more")
    if result.truncated:
        shown.append("… truncated at the query's limit")
    return "\n".join(shown)


def sparkline(values: Sequence[float], low: float, high: float, steps: int = _STEPS) -> str:
    """Block characters on a scale from ``low`` to ``high``; each shows the greatest value of its step, a gap is a blank."""
    count = min(steps, len(values))
    buckets = [values[i * len(values) // count : (i + 1) * len(values) // count] for i in range(count)]
    peaks = [max((v for v in bucket if math.isfinite(v)), default=math.nan) for bucket in buckets]
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((p - low) * scale)] if math.isfinite(p) else " " for p in peaks)


def _curves(all_series: Sequence[Series], width: int) -> list[str]:
    # One scale for what has one unit: noise must not look like a jump.
    lines = []
    for series in all_series:
        finite = [v for v in series.values if math.isfinite(v)]
        alike = [v for s in all_series if s.unit == series.unit for v in s.values if math.isfinite(v)]
        name = f"{_cut(f'{series.entity.name} {series.metric}', width):<{width}}"
        if finite:
            curve = sparkline(series.values, min(alike), max(alike))
            first, last, most = _figure(finite[0]), _figure(finite[-1]), _figure(max(finite))
            lines.append(f"{name} {curve} {first} → {last}, most {most} {series.unit}".rstrip())
        else:
            lines.append(f"{name} no values")
    return lines


def _tree(spans: Sequence[Span], rows: int, width: int) -> list[str]:
    depth: dict[str, int] = {}
    lines = []
    for span in sorted(spans, key=lambda s: s.start)[:rows]:
        depth[span.id] = depth.get(span.parent or "", -1) + 1
        name = _cut(f"{span.service}: {span.operation}", 2 * width)
        lines.append(f"{'  ' * depth[span.id]}{name} {span.duration_ms:,.0f} ms{' ERROR' if span.error else ''}")
    return lines


def _table(columns: Sequence[str], rows: Sequence[tuple[Cell, ...]], width: int) -> list[str]:
    cells = [[_cut(c, width) for c in columns], *([_cut(_cell(c), width) for c in row] for row in rows)]
    widths = [max(len(line[i]) for line in cells if i < len(line)) for i in range(max(map(len, cells)))]
    return ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=False)).rstrip() for line in cells]


def _cell(cell: Cell) -> str:
    return "" if cell is None else _figure(cell) if isinstance(cell, float) else str(cell)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
