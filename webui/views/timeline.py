"""What happened around an incident: discrete changes on one axis, under the signals that users notice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from revelio.presentation.charts import charts
from revelio.types import Evidence, Series, Window
from webui.i18n import gettext
from webui.views import filters
from webui.views.evidence import Chart, chart_view

_SIGNALS = ("request_rate", "error_rate", "latency_p95")
"""What users notice of a service."""
_MOST = 40
_RESTART_S = 60.0
"""A start so long after a stop belongs to it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A change: ``at`` in Unix seconds, ``place`` in percent of the axis; ``during`` when in the window."""

    at: float
    entity: str
    what: str
    before: str
    after: str
    during: bool
    place: float


@dataclass(frozen=True, slots=True)
class IncidentTimeline:
    """Changes, oldest first, and the charts above them; the window begins at ``window_at`` percent of the axis."""

    moments: tuple[Moment, ...]
    charts: tuple[Chart, ...]
    service: str
    window_at: float
    left_out: int


def incident_timeline(evidence: Evidence, suspects: Iterable[str]) -> IncidentTimeline:
    """The timeline, with the signals of the suspect where it has them, else of the busiest service."""
    moments = changes(evidence)
    service = _service(evidence, tuple(suspects))
    shown = [s for s in evidence.series if s.entity.kind == "service" and s.entity.name == service and s.metric in _SIGNALS]
    shown.sort(key=lambda s: _SIGNALS.index(s.metric))
    drawn = tuple(chart_view(c) for s in shown for c in charts((s,), evidence.baseline, evidence.window))
    whole = Window(evidence.baseline.start, evidence.window.end)
    return IncidentTimeline(moments[:_MOST], drawn, service, _place(evidence.window.start, whole), max(0, len(moments) - _MOST))


def changes(evidence: Evidence) -> tuple[Moment, ...]:
    """Every discrete change: states, limits, configuration, deployments, log patterns that are new; oldest first."""
    whole = Window(evidence.baseline.start, evidence.window.end)
    found = [
        *_states(evidence),
        *_deployments(evidence),
        *_first_errors(evidence),
    ]
    start = evidence.window.start
    return tuple(
        Moment(at, entity, what, before, after, at >= start, _place(at, whole))
        for at, entity, what, before, after in sorted(set(found))
    )


def _states(evidence: Evidence) -> Iterator[tuple[float, str, str, str, str]]:
    """Recorded changes of state; a stop and the start that follows it are one restart."""
    stops = [c for c in evidence.changes if c.field == "state" and c.before == "running"]
    starts = [c for c in evidence.changes if c.field == "started"]
    pairs = [(next((s for s in stops if s.entity == c.entity and 0 <= c.at - s.at <= _RESTART_S), None), c) for c in starts]
    joined = [(stop, start) for stop, start in pairs if stop is not None]
    for stop, start in joined:
        words = gettext("running again after %(time)s; had %(state)s")
        away = filters.duration((start.at - stop.at) * 1000)
        yield stop.at, stop.entity.name, "restarted", "", words % {"time": away, "state": stop.after}
    told = [change for pair in joined for change in pair]
    for c in evidence.changes:
        if c not in told:
            yield c.at, c.entity.name, c.field.replace("_", " "), c.before, c.after


def _deployments(evidence: Evidence) -> Iterator[tuple[float, str, str, str, str]]:
    for series in evidence.series:
        version = series.metric.partition(" ")[2]
        if not series.metric.startswith("versions ") or not version:
            continue
        seen = [t for t, v in zip(series.times, series.values, strict=True) if v > 0]
        if seen and seen[0] >= evidence.window.start:
            yield seen[0], series.entity.name, "version", "", version


def _first_errors(evidence: Evidence) -> Iterator[tuple[float, str, str, str, str]]:
    """The first line of the most frequent new error pattern of each component."""
    new = [p for p in evidence.logs if p.baseline_count == 0 and p.level in ("ERROR", "FATAL", "CRITICAL")]
    for name in sorted({p.entity.name for p in new}):
        most = max((p for p in new if p.entity.name == name), key=lambda p: p.count)
        yield most.first_seen, name, "new error", "", most.example or most.pattern


def _service(evidence: Evidence, suspects: tuple[str, ...]) -> str:
    rates = {s.entity.name: s for s in evidence.series if s.metric == "request_rate" and s.entity.kind == "service"}
    for name in suspects:
        if name in rates:
            return name
    return max(rates, key=lambda n: _mean(rates[n]), default="")


def _mean(series: Series) -> float:
    known = [v for v in series.values if math.isfinite(v)]
    return sum(known) / len(known) if known else 0.0


def _place(moment: float, whole: Window) -> float:
    share = (moment - whole.start) / whole.seconds if whole.seconds > 0 else 1.0
    return round(100.0 * min(max(share, 0.0), 1.0), 2)
