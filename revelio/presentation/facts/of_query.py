"""What one query shows: its result where it was run, else what the snapshot holds of the same."""

from __future__ import annotations

from revelio.catalog.conventions import signals
from revelio.presentation.facts.calls import blocked, failed_calls, look_ups, slow_calls
from revelio.presentation.facts.changes import change
from revelio.presentation.facts.fact import Fact
from revelio.presentation.facts.figures import component_of, figure, title_of
from revelio.presentation.facts.logs import log_line
from revelio.support.anomaly import SIGNIFICANT, SIGNIFICANT_SIGMA, deviation, split
from revelio.types import Evidence, Query, RankedQuery, Result, Series


def fact_of(ranked: RankedQuery, evidence: Evidence) -> Fact | None:
    """What the query shows that is out of the ordinary; None where it shows nothing, or where that is not known yet."""
    if not ranked.answered or ranked.result is None:
        return _of_snapshot(ranked.query, evidence)
    if ranked.result.signal < SIGNIFICANT:
        return None
    return _of_result(ranked.query, ranked.result, evidence) or _summarized(ranked.query, ranked.result)


def _of_result(query: Query, result: Result, evidence: Evidence) -> Fact | None:
    if result.kind in ("log_lines", "log_patterns", "exceptions"):
        return log_line(query, evidence, result)
    if result.kind in ("changes", "containers", "health_checks"):
        return change(query, evidence, result)
    if result.kind in ("operations", "self_time"):
        return slow_calls(query, result)
    if result.kind in ("sessions", "locks"):
        return blocked(query, result)
    if result.kind == "name_lookups":
        return look_ups(result) or figure(query, result.series, evidence)
    if result.kind == "spans":
        return failed_calls(query, evidence)
    return figure(query, result.series, evidence)


def _summarized(query: Query, result: Result) -> Fact:
    """A result of any other shape: its own summary under the query's title."""
    component = component_of(query)
    return Fact(
        "other", component, (f"{title_of(query)}: {result.summary}",), None, f"read the rows of this result about {component}"
    )


def _of_snapshot(query: Query, evidence: Evidence) -> Fact | None:
    """What the snapshot holds of what the query reads, where that is out of the ordinary."""
    sources = {r.source for r in query.template.reads}
    series = [s for s in _read(query, evidence) if _deviates(s, evidence)]
    if series:
        return figure(query, series, evidence)
    if "changes" in sources and (changed := change(query, evidence, None)):
        return changed
    if "logs" in sources and (line := log_line(query, evidence, None)):
        return line if line.since is not None else None
    return failed_calls(query, evidence) if "spans" in sources else None


def _read(query: Query, evidence: Evidence) -> list[Series]:
    names = {e.name for e in query.entities} | {"->".join(e.name for e in query.entities)}
    metrics = {r.metric for r in query.template.reads if r.source == "series"}
    return [s for s in evidence.series if s.entity.name in names and s.metric.partition(" ")[0] in metrics]


def _deviates(series: Series, evidence: Evidence) -> bool:
    known = signals().get(series.metric.partition(" ")[0])
    before, now = split(series.times, series.values, evidence.baseline, evidence.window)
    floor, direction = (known.noise_floor, known.direction) if known else (0.0, "both")
    return deviation(before, now, direction, floor, series.earlier) >= SIGNIFICANT_SIGMA
