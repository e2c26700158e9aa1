"""Evidence in a few lines of plain text, for messages. Whoever sends them escapes them for where they go."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from revelio.presentation.cells import is_moment
from revelio.presentation.panels import Chart, EvidencePanels, Group, Groups, Panel, Table, Timeline, Tree, Waterfall
from revelio.presentation.sparklines import sparkline
from revelio.tools.figures import milliseconds, plain
from revelio.types import Cell

_POINTS = 12
_MOST_LINES = 5
_TELLING = ("tree", "groups", "timeline", "chart", "waterfall", "table")
"""Panels in the order in which they tell most in few lines."""


def compact(shown: EvidencePanels, lines: int = _MOST_LINES, width: int = 110) -> str:
    """The headline and at most so many lines of what stands out, each at most ``width`` characters long."""
    head = f"{'Stands out' if shown.significant else 'As before'} ({shown.signal:.2f}): {shown.summary}"
    body = [line for panel in sorted(shown.panels, key=lambda p: _TELLING.index(p.kind)) for line in _lines(panel)]
    kept = [_cut(line, width) for line in (head, *body[:lines])]
    if len(body) > lines:
        kept.append(f"… {len(body) - lines} more")
    return "\n".join(kept)


def _lines(panel: Panel) -> Iterator[str]:
    if isinstance(panel, Chart):
        for line in panel.lines:
            bars = sparkline(line.times, line.values, panel.baseline, panel.window, _POINTS)
            yield f"{', '.join(n for n in (line.name, panel.title) if n)} {bars} {_change(line.before, line.now, panel.unit)}"
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
        for bar in panel.bars:
            if bar.mark in ("origin", "slow"):
                took = f"{milliseconds(bar.duration_ms)} ({milliseconds(bar.own_ms)} its own)"
                yield f"{'failed here' if bar.mark == 'origin' else 'slow'}: {bar.service} {bar.operation}, {took}"
    else:
        yield from _rows(panel)


def _rows(table: Table) -> Iterator[str]:
    if not table.redundant:
        for row in table.rows:
            cells = (f"{name}: {_cell(cell)}" for name, cell in zip(table.columns, row, strict=True) if cell not in (None, ""))
            yield ", ".join(cells)


def _group(group: Group, unit: str) -> str:
    about = f" [{', '.join(a for a in group.about if a)}]" if any(group.about) else ""
    was = "" if group.before is None else f", {plain(group.before, unit)} before"
    return f"{plain(group.now, unit) if group.now is not None else 'none'} now{was}: {group.label}{about}"


def _change(before: float | None, now: float | None, unit: str) -> str:
    was, present = (plain(v, unit) if v is not None else "–" for v in (before, now))
    return f"{was} → {present}"


def _cell(cell: Cell) -> str:
    if is_moment(cell):
        return datetime.fromtimestamp(float(cell or 0.0), UTC).strftime("%H:%M:%S UTC")
    return plain(cell, "") if isinstance(cell, float) else str(cell)


def _cut(line: str, width: int) -> str:
    flat = line.replace("\n", " ").replace("\r", " ")
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"
