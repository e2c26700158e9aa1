"""Search requests for log lines, and the lines in their answers."""

from __future__ import annotations

from collections.abc import Mapping

from revelio.tools.base import Limits, Scope
from revelio.tools.elasticsearch.fields import ECS, Fields
from revelio.tools.links import iso
from revelio.tools.log_fields import read_line
from revelio.tools.log_patterns import Line, level_of
from revelio.tools.placeholders import Tree
from revelio.types import Window

PROBLEM_LEVELS = tuple(n for level in ("WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "PANIC") for n in (level, level.lower()))
BEFORE, NOW = "before", "now"


def comparing(wanted: Tree, scope: Scope, limits: Limits, names: Fields) -> dict[str, Tree]:
    """The newest lines of the window, and how many there are in baseline and window."""
    middle = iso(scope.window.start)
    when: Tree = {"field": names.schema.time, "ranges": [{"key": BEFORE, "to": middle}, {"key": NOW, "from": middle}]}
    return {
        "query": {"bool": {"filter": [between(scope.baseline.start, scope.window.end, names), names.translated(wanted)]}},
        "post_filter": between(scope.window.start, scope.window.end, names),
        "aggs": {"when": {"date_range": when}},
        **_lines(limits.rows, limits, names),
    }


def lines_of(wanted: Tree, window: Window, most: int, limits: Limits, names: Fields) -> dict[str, Tree]:
    """The newest lines of one window, and how many there are in all."""
    query: Tree = {"bool": {"filter": [between(window.start, window.end, names), names.translated(wanted)]}}
    return {"query": query, "track_total_hits": True, **_lines(most, limits, names)}


def over_time(wanted: Tree, scope: Scope, limits: Limits, stretch_s: float, names: Fields) -> dict[str, Tree]:
    """How many lines of each level there are in every stretch of time, and no lines."""
    histogram: Tree = {"field": names.schema.time, "fixed_interval": f"{stretch_s:.0f}s", "min_doc_count": 1}
    level: Tree = {"field": names.exact(names.schema.level), "size": 10}
    return {
        "query": {"bool": {"filter": [between(scope.baseline.start, scope.window.end, names), names.translated(wanted)]}},
        "aggs": {"level": {"terms": level, "aggs": {"time": {"date_histogram": histogram}}}},
        "size": 0,
        "timeout": f"{limits.seconds:g}s",
    }


def line_in(fields: Mapping[str, list[object]], names: Fields) -> Line:
    """A hit's fields as a line. Raises ``KeyError``, ``TypeError``, ``ValueError`` or ``IndexError`` when they are none.

    What the document does not say of its level, its exception or its trace is read from its message.
    """
    schema = names.schema

    def one(name: str) -> str:
        return str(fields[name][0]) if fields.get(name) else ""

    at, message = float(str(fields[schema.time][0])) / 1000.0, one(schema.message)
    if schema != ECS:
        beside = {"level": one(schema.level), "trace_id": one(schema.trace), "error.type": one(schema.error)}
        return read_line(message, at, beside, one(schema.service))
    origin = one(schema.file)
    return Line(
        at=at,
        source=one(schema.service),
        level=level_of(one(schema.level)),
        message=message,
        trace=one(schema.trace),
        error=one(schema.error),
        origin=f"{origin}:{one(schema.line)}" if origin else "",
    )


def _lines(most: int, limits: Limits, names: Fields) -> dict[str, Tree]:
    schema = names.schema
    newest: list[Tree] = [{schema.time: "desc"}]
    wanted: list[Tree] = [{"field": schema.time, "format": "epoch_millis"}]
    wanted += [schema.service, schema.level, schema.message, schema.trace, schema.error, schema.file, schema.line]
    return {"size": most, "sort": newest, "fields": wanted, "_source": False, "timeout": f"{limits.seconds:g}s"}


def between(start: float, end: float, names: Fields) -> dict[str, Tree]:
    """The search for all lines from ``start`` to before ``end``, in Unix seconds."""
    return {"range": {names.schema.time: {"gte": iso(start), "lt": iso(end)}}}
