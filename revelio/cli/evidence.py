"""An exhibit in the terminal: sparklines for series, groups now and before, a timeline, a tree, a waterfall, a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from revelio.presentation import evidence_panels, headline, panels
from revelio.presentation.cells import format_cell
from revelio.presentation.sparklines import sparkline as bars_of
from revelio.presentation.waterfalls import waterfall as drawn
from revelio.support.numbers import format_duration, format_value
from revelio.types import Evidence, Result, Series, Span, Window

_POINTS = 24
_MOST_ROWS = 12
_WATERFALL_WIDTH = 44


def evidence_view(result: Result, evidence: Evidence) -> RenderableType:
    """Everything that a result holds, longest lists cut."""
    shown = evidence_panels(result, evidence)
    parts: list[RenderableType] = [Text(headline(shown), "bold red" if shown.significant else "")]
    if shown.reason:
        parts.append(Text(shown.reason, "dim"))
    charts = [panel for panel in shown.panels if isinstance(panel, panels.Chart)]
    if charts:
        parts.append(_charts(charts))
    for panel in shown.panels:
        parts += _panel(panel, waterfall_there=bool(result.spans))
    if shown.truncated:
        parts.append(Text("… the backend had more than the row limit; --json prints all that was read", "dim"))
    return Group(*parts)


def sparkline(series: Series, baseline: Window, window: Window) -> str:
    """Baseline and window as bars on one scale with ``│`` between; at most 24 bars a side, each a mean."""
    return _sparkline(series.times, [v if math.isfinite(v) else None for v in series.values], baseline, window)


def waterfall(spans: Sequence[Span]) -> Iterator[Text]:
    """One line a span: its place in the call tree and its stretch of the trace's time; failed and slow ones are marked."""
    trace = drawn(spans)
    return iter(()) if trace is None else _waterfall(trace)


def _panel(panel: panels.Panel, *, waterfall_there: bool) -> Iterator[RenderableType]:
    if isinstance(panel, panels.Groups):
        yield from _groups(panel)
    elif isinstance(panel, panels.Timeline):
        yield from _timeline(panel)
    elif isinstance(panel, panels.Tree):
        yield Text(panel.title, "bold")
        for node in panel.nodes[:_MOST_ROWS]:
            name = ("  " * node.depth) + ("▲ " if node.mark else "└ " if node.depth else "")
            yield Text.assemble(name, (node.name, "bold red" if node.mark else "bold"), f"  {node.detail}")
        yield from _more(len(panel.nodes) + panel.left_out - _MOST_ROWS, "lines")
    elif isinstance(panel, panels.Waterfall):
        yield from _waterfall(panel)
        yield from _more(panel.left_out, "spans")
    elif isinstance(panel, panels.Table) and not panel.redundant and not waterfall_there:
        yield _rows(panel)
        yield from _more(len(panel.rows) - _MOST_ROWS, "rows")


def _charts(charts: Sequence[panels.Chart]) -> Table:
    grid = _grid(3)
    for chart in charts:
        for line in chart.lines:
            name = f"{line.name} {chart.title}".strip()
            change = f"{format_value(line.before, chart.unit)} → {format_value(line.now, chart.unit)}"
            bars = _sparkline(line.times, line.values, chart.baseline, chart.window)
            grid.add_row(Text(name), Text(bars, "cyan"), Text(change))
        if chart.left_out:
            grid.add_row(Text(f"… {chart.left_out} more series", "dim"))
    return grid


def _groups(panel: panels.Groups) -> Iterator[RenderableType]:
    grid = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
    before, now = (f"{head} ({seconds:.0f} s)" if seconds else head for head, seconds in _heads(panel))
    title = panel.title if panel.unit in panel.title.lower() else f"{panel.title}, {panel.unit}"
    for name, right in ((before, True), (now, True), ("", False), (title, False)):
        grid.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for group in panel.groups[:_MOST_ROWS]:
        label = Text.assemble(group.label, *((f"  {about}", "dim") for about in group.about if about))
        style = "bold red" if group.mark else ""
        before, now = (format_value(v, panel.unit, bare=True) for v in (group.before, group.now))
        grid.add_row(before, Text(now, style), Text(group.mark, style), label)
    yield grid
    yield from _more(len(panel.groups) + panel.left_out - _MOST_ROWS, "groups")


def _heads(panel: panels.Groups) -> tuple[tuple[str, float], tuple[str, float]]:
    return ("before", panel.before_s), ("now", panel.now_s)


def _timeline(panel: panels.Timeline) -> Iterator[RenderableType]:
    grid = _grid(4)
    for moment in panel.moments[:_MOST_ROWS]:
        offset = f"{moment.at - panel.window.end:+.0f} s"
        change = f"{moment.before} → {moment.after}" if moment.before else moment.after
        grid.add_row(Text(offset, "bold" if moment.during else "dim"), Text(moment.entity), Text(moment.what), Text(change))
    yield grid
    yield from _more(len(panel.moments) + panel.left_out - _MOST_ROWS, "moments")


def _waterfall(trace: panels.Waterfall) -> Iterator[Text]:
    style = {"failed": "red", "origin": "red", "slow": "yellow", "": "cyan"}
    for bar in trace.bars:
        left = min(int(bar.start * _WATERFALL_WIDTH), _WATERFALL_WIDTH - 1)
        width = max(1, round(bar.width * _WATERFALL_WIDTH))
        drawn_bar = " " * left + "█" * min(width, _WATERFALL_WIDTH - left)
        name = f"{'  ' * bar.depth}{bar.service} {bar.operation}"
        line = Text(f"{name[:44]:<44} ")
        line.append(f"{drawn_bar:<{_WATERFALL_WIDTH}}", style[bar.mark])
        line.append(f" {format_duration(bar.duration_ms):>9}")
        if bar.mark == "failed":
            line.append("  error", "bold red")
        elif bar.mark == "origin":
            line.append("  error here", "bold red")
        elif bar.mark == "slow":
            line.append(f"  slow: self time {format_duration(bar.own_ms)}", "bold yellow")
        yield line


def _rows(table: panels.Table) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in table.columns:
        grid.add_column(Text(name), overflow="fold")
    for row in table.rows[:_MOST_ROWS]:
        grid.add_row(*(Text(format_cell(cell).strip()) for cell in row))
    return grid


def _grid(columns: int) -> Table:
    grid = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(columns):
        grid.add_column(overflow="fold")
    return grid


def _more(count: int, noun: str) -> Iterator[Text]:
    if count > 0:
        yield Text(f"… {count} more {noun}; --json prints all that was read", "dim")


def _sparkline(times: Sequence[float], values: Sequence[float | None], baseline: Window, window: Window) -> str:
    return bars_of(times, values, baseline, window, _POINTS)
