"""A result as a page shows it: the panels of its exhibit with every figure in words and every length in percent."""

from __future__ import annotations

import json
from dataclasses import dataclass

from revelio.presentation import evidence_panels
from revelio.presentation import panels as model
from revelio.presentation.charts import finite
from revelio.presentation.sparklines import sparkline
from revelio.types import Cell, Evidence, Result, Window
from webui.i18n import gettext, gettext_noop
from webui.views import filters

_SPARK = 16
"""Points a side of a course in text."""
_MARKS = {"new": gettext_noop("new"), "gone": gettext_noop("gone")}


@dataclass(frozen=True, slots=True)
class Line:
    """One series in figures before and now, its highest value now, and its course as a line of text."""

    name: str
    before: str
    now: str
    highest: str
    spark: str


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
    """One span in the waterfall; ``start`` and ``width`` in percent of the trace, ``depth`` in levels.

    ``mark`` is "failed", "origin" (nothing below it failed), "slow" or empty; ``own`` is the time outside its child spans.
    """

    service: str
    operation: str
    depth: int
    start: float
    width: float
    duration: str
    own: str
    mark: str


@dataclass(frozen=True, slots=True)
class Group:
    """One group's values before and now, as text and as bars in percent of the longest; ``mark`` names the change."""

    label: str
    about: tuple[str, ...]
    before: str
    now: str
    before_width: float
    now_width: float
    mark: str
    example: str


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of one unit; ``before_head`` and ``now_head`` are headings of their columns."""

    title: str
    before_head: str
    now_head: str
    groups: tuple[Group, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """Something that happened: when, counted from the report, and at which percent of baseline and window."""

    when: str
    at: float
    entity: str
    what: str
    before: str
    after: str
    during: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened, oldest first; the window begins at ``window_at`` percent."""

    happenings: tuple[TimelineRow, ...]
    window_at: float
    left_out: int


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """The result of a query. ``numeric`` says which columns hold figures.

    ``redundant`` when the rows only repeat what a panel before them says.
    """

    summary: str
    reason: str
    signal: float
    significant: bool
    charts: tuple[Chart, ...]
    trees: tuple[model.Tree, ...]
    groups: tuple[Groups, ...]
    timelines: tuple[Timeline, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: tuple[bool, ...]
    redundant: bool
    bars: tuple[Bar, ...]
    spans_left_out: int
    truncated: bool
    took: str


def evidence_view(result: Result, evidence: Evidence) -> EvidenceView:
    """The view of a result of a query that was run in the evidence's window."""
    shown = evidence_panels(result, evidence)
    table = next((p for p in shown.panels if isinstance(p, model.Table)), model.Table(result.columns, (), ()))
    trace = next((p for p in shown.panels if isinstance(p, model.Waterfall)), None)
    return EvidenceView(
        summary=shown.summary,
        reason=shown.reason,
        signal=shown.signal,
        significant=shown.significant,
        charts=tuple(chart_view(p) for p in shown.panels if isinstance(p, model.Chart)),
        trees=tuple(p for p in shown.panels if isinstance(p, model.Tree)),
        groups=tuple(_groups(p) for p in shown.panels if isinstance(p, model.Groups)),
        timelines=tuple(_timeline(p) for p in shown.panels if isinstance(p, model.Timeline)),
        columns=table.columns,
        rows=table.rows,
        numeric=table.numeric,
        redundant=table.redundant,
        bars=tuple(_bar(b) for b in trace.bars) if trace else (),
        spans_left_out=trace.left_out if trace else 0,
        truncated=shown.truncated,
        took=filters.duration(shown.took_ms),
    )


def chart_view(chart: model.Chart) -> Chart:
    """A chart with its figures in words."""
    end, unit = chart.window.end, chart.unit
    times = sorted({t for line in chart.lines for t in line.times})
    columns = [dict(zip(line.times, line.values, strict=True)) for line in chart.lines]
    values = [[finite(c.get(t)) for t in times] for c in columns]
    names = tuple(line.name for line in chart.lines)
    data = {
        "times": [round(t - end, 3) for t in times],
        "lines": [{"name": n, "values": v} for n, v in zip(names, values, strict=True)],
        "unit": unit,
        "baseline": [chart.baseline.start - end, chart.baseline.end - end],
        "window": [chart.window.start - end, 0.0],
        "end": end,
    }
    moments = tuple(
        (filters.offset(t - end), *(filters.figure(column[i], unit, bare=True) for column in values)) for i, t in enumerate(times)
    )
    title = ", ".join(part for part in (chart.title, "" if chart.title.endswith(unit) else unit) if part)
    return Chart(
        title, json.dumps(data, allow_nan=False), tuple(_line(x, chart) for x in chart.lines), names, moments, chart.left_out
    )


def _line(line: model.Line, chart: model.Chart) -> Line:
    before, now, highest = (filters.figure(v, chart.unit, bare=True) for v in (line.before, line.now, line.highest))
    spark = sparkline(line.times, line.values, chart.baseline, chart.window, _SPARK)
    return Line(line.name, before, now, highest, spark)


def _bar(bar: model.Bar) -> Bar:
    start = 100.0 * bar.start
    width = min(max(100.0 * bar.width, 0.4), 100.0 - start)
    return Bar(
        bar.service,
        bar.operation,
        bar.depth,
        round(start, 2),
        round(max(width, 0.4), 2),
        filters.duration(bar.duration_ms),
        filters.duration(bar.own_ms),
        bar.mark,
    )


def _groups(panel: model.Groups) -> Groups:
    most = max((v for g in panel.groups for v in (g.now, g.before) if v is not None), default=0.0) or 1.0
    before = gettext("Before, %(time)s") % {"time": filters.seconds(panel.before_s)} if panel.before_s else gettext("Before")
    now = gettext("Now, %(time)s") % {"time": filters.seconds(panel.now_s)} if panel.now_s else gettext("Now")
    title = panel.title if panel.unit in panel.title.lower() else f"{panel.title}, {panel.unit}"
    groups = tuple(_group(g, panel.unit, most) for g in panel.groups)
    return Groups(title, before, now, groups, panel.left_out)


def _group(group: model.Group, unit: str, most: float) -> Group:
    before, now = (filters.figure(v, unit, bare=True) for v in (group.before, group.now))
    times = f"× {filters.figure(group.now / group.before)}" if group.mark == "more" and group.now and group.before else ""
    return Group(
        group.label,
        tuple(a for a in group.about if a),
        before,
        now,
        _percent(group.before, most),
        _percent(group.now, most),
        gettext(_MARKS[group.mark]) if group.mark in _MARKS else times,
        "" if group.label.startswith(group.example) else group.example,
    )


def _percent(value: float | None, most: float) -> float:
    return round(max(0.0, 100.0 * (value or 0.0) / most), 2)


def _timeline(panel: model.Timeline) -> Timeline:
    whole = Window(panel.baseline.start, panel.window.end)
    happenings = (
        TimelineRow(
            filters.offset(m.at - whole.end), _place(m.at, whole), m.entity, m.what.replace("_", " "), m.before, m.after, m.during
        )
        for m in panel.moments
    )
    return Timeline(tuple(happenings), _place(panel.window.start, whole), panel.left_out)


def _place(moment: float, whole: Window) -> float:
    share = (moment - whole.start) / whole.seconds if whole.seconds > 0 else 1.0
    return round(100.0 * min(max(share, 0.0), 1.0), 2)
