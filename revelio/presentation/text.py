"""Evidence as plain text for Slack and assistants. The sender escapes it for its destination."""

from __future__ import annotations

from collections.abc import Iterator

from revelio.presentation.cells import format_cell
from revelio.presentation.panels import Chart, EvidencePanels, Group, Groups, Panel, Table, Timeline, Tree, Waterfall
from revelio.presentation.sparklines import sparkline
from revelio.support.numbers import format_duration, format_value

_POINTS = 12
_ORDER = ("tree", "groups", "timeline", "chart", "waterfall", "table")
"""Panels by how much a few lines of them say."""


def headline(shown: EvidencePanels) -> str:
    """The verdict and the summary, or why there is no result."""
    if shown.error is not None:
        return f"Not run: {shown.error}"
    return f"{'Anomalous' if shown.significant else 'Normal'} (anomaly score {shown.signal:.2f}): {shown.summary}"


def text_view(shown: EvidencePanels, lines: int = 6, width: int = 110) -> str:
    """At most so many lines of the panels, what is marked first, each at most ``width`` characters; "" without panels."""
    body = [line for panel in sorted(shown.panels, key=lambda p: _ORDER.index(p.kind)) for line in _lines(panel)]
    kept = [shorten_line(line, width) for line in body[:lines]]
    if len(body) > lines:
        kept.append(f"… {len(body) - lines} more")
    if shown.truncated:
        kept.append("… truncated at the query's limit")
    return "\n".join(kept)


def shorten_line(line: str, width: int) -> str:
    """The text on one line of at most ``width`` characters."""
    flat = " ".join(line.splitlines())
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


def _lines(panel: Panel) -> Iterator[str]:
    if isinstance(panel, Chart):
        yield from _chart(panel)
    elif isinstance(panel, Groups):
        for group in sorted(panel.groups, key=lambda g: not g.mark):
            yield _group(group, panel.unit)
    elif isinstance(panel, Timeline):
        for moment in panel.moments:
            change = f"{moment.before} → {moment.after}" if moment.before else moment.after
            yield f"{moment.at - panel.window.end:+.0f} s {moment.entity}: {moment.what} {change}"
    elif isinstance(panel, Tree):
        for node in panel.nodes:
            yield f"{'  ' * node.depth}{'▲ ' if node.mark else '└ ' if node.depth else ''}{node.name}: {node.detail}"
    elif isinstance(panel, Waterfall):
        yield from _waterfall(panel)
    else:
        yield from _rows(panel)


def _chart(panel: Chart) -> Iterator[str]:
    # One scale for the whole chart: noise must not look like a jump.
    known = [v for line in panel.lines for v in line.values if v is not None]
    scale = (min(0.0, *known), max(known)) if known else None
    for line in panel.lines:
        bars = sparkline(line.times, line.values, panel.baseline, panel.window, _POINTS, scale)
        change = f"{format_value(line.before, panel.unit)} → {format_value(line.now, panel.unit)}"
        yield f"{', '.join(n for n in (line.name, panel.title) if n)} {bars} {change}"


def _waterfall(panel: Waterfall) -> Iterator[str]:
    for bar in panel.bars:
        if bar.mark in ("origin", "slow"):
            took = f"{format_duration(bar.duration_ms)} (self time {format_duration(bar.own_ms)})"
            yield f"{'failed here' if bar.mark == 'origin' else 'slow'}: {bar.service} {bar.operation}, {took}"


def _rows(table: Table) -> Iterator[str]:
    if not table.redundant:
        for row in table.rows:
            named = zip(table.columns, row, strict=True)
            yield ", ".join(f"{name}: {format_cell(cell)}" for name, cell in named if cell not in (None, ""))


def _group(group: Group, unit: str) -> str:
    about = f" [{', '.join(a for a in group.about if a)}]" if any(group.about) else ""
    before = "" if group.before is None else f", {format_value(group.before, unit)} before"
    return f"{format_value(group.now, unit) if group.now is not None else 'none'} now{before}: {group.label}{about}"
