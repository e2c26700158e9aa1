"""Search requests for log lines, and the lines in their answers."""

from __future__ import annotations

from collections.abc import Mapping

from revelio.tools.base import Limits, Scope
from revelio.tools.links import iso
from revelio.tools.log_patterns import Line, level_of
from revelio.tools.placeholders import Tree
from revelio.types import Window

PROBLEM_LEVELS = tuple(n for level in ("WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "PANIC") for n in (level, level.lower()))
BEFORE, NOW = "before", "now"
FIELDS: list[Tree] = [
    {"field": "@timestamp", "format": "epoch_millis"},
    "service.name",
    "log.level",
    "message",
    "trace.id",
    "error.type",
    "log.origin.file.name",
    "log.origin.file.line",
]


def comparing(wanted: Tree, scope: Scope, limits: Limits) -> dict[str, Tree]:
    """The newest lines of the window, and how many there are in baseline and window."""
    middle = iso(scope.window.start)
    when: Tree = {"field": "@timestamp", "ranges": [{"key": BEFORE, "to": middle}, {"key": NOW, "from": middle}]}
    return {
        "query": {"bool": {"filter": [_between(scope.baseline.start, scope.window.end), wanted]}},
        "post_filter": _between(scope.window.start, scope.window.end),
        "aggs": {"when": {"date_range": when}},
        **_lines(limits.rows, limits),
    }


def lines_of(wanted: Tree, window: Window, most: int, limits: Limits) -> dict[str, Tree]:
    """The newest lines of one window, and how many there are in all."""
    query: Tree = {"bool": {"filter": [_between(window.start, window.end), wanted]}}
    return {"query": query, "track_total_hits": True, **_lines(most, limits)}


def over_time(wanted: Tree, scope: Scope, limits: Limits, stretch_s: float) -> dict[str, Tree]:
    """How many lines of each level there are in every stretch of time, and no lines."""
    histogram: Tree = {"field": "@timestamp", "fixed_interval": f"{stretch_s:.0f}s", "min_doc_count": 1}
    return {
        "query": {"bool": {"filter": [_between(scope.baseline.start, scope.window.end), wanted]}},
        "aggs": {"level": {"terms": {"field": "log.level", "size": 10}, "aggs": {"time": {"date_histogram": histogram}}}},
        "size": 0,
        "timeout": f"{limits.seconds:g}s",
    }


def line_in(fields: Mapping[str, list[object]]) -> Line:
    """A hit's fields as a line. Raises ``KeyError``, ``TypeError``, ``ValueError`` or ``IndexError`` when they are none."""

    def one(name: str) -> str:
        return str(fields[name][0]) if fields.get(name) else ""

    origin = one("log.origin.file.name")
    return Line(
        at=float(str(fields["@timestamp"][0])) / 1000.0,
        source=one("service.name"),
        level=level_of(one("log.level")),
        message=one("message"),
        trace=one("trace.id"),
        error=one("error.type"),
        origin=f"{origin}:{one('log.origin.file.line')}" if origin else "",
    )


def _lines(most: int, limits: Limits) -> dict[str, Tree]:
    newest: list[Tree] = [{"@timestamp": "desc"}]
    return {"size": most, "sort": newest, "fields": FIELDS, "_source": False, "timeout": f"{limits.seconds:g}s"}


def _between(start: float, end: float) -> Tree:
    return {"range": {"@timestamp": {"gte": iso(start), "lt": iso(end)}}}
