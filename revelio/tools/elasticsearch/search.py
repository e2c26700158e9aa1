"""Search requests for log lines, and the lines in their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from revelio.tools.base import Limits, Scope
from revelio.tools.elasticsearch.fields import ECS, Fields
from revelio.tools.links import iso
from revelio.tools.log_fields import PROJECT, read_line
from revelio.tools.log_patterns import PROBLEMS, LogRecord, level_of, phrases
from revelio.tools.placeholders import Tree
from revelio.types import LogPattern, Window

PROBLEM_LEVELS = tuple(n for level in ("WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "PANIC") for n in (level, level.lower()))
"""Values of ``log.level`` in a search for problems."""
BEFORE, NOW = "before", "now"
OTHERS = "INFO"
"""The level of lines that are no problem."""

MOST_LOOKED_AT = 50_000
"""Documents of a shard by which it is judged what they fill."""


def comparing(wanted: Tree, scope: Scope, limits: Limits, names: Fields) -> dict[str, Tree]:
    """The newest lines of the window, and how many there are in baseline and window."""
    middle = iso(scope.window.start)
    when: Tree = {"field": names.schema.time, "ranges": [{"key": BEFORE, "to": middle}, {"key": NOW, "from": middle}]}
    return {
        "query": found(wanted, Window(scope.baseline.start, scope.window.end), scope, names),
        "post_filter": between(scope.window.start, scope.window.end, names),
        "aggs": {"when": {"date_range": when}},
        **_lines(limits.rows, limits, names),
    }


def lines_of(wanted: Tree, window: Window, scope: Scope, most: int, limits: Limits, names: Fields) -> dict[str, Tree]:
    """The newest lines of one window, and how many there are in all."""
    return {"query": found(wanted, window, scope, names), "track_total_hits": True, **_lines(most, limits, names)}


def over_time(wanted: Tree, scope: Scope, limits: Limits, stretch_s: float, names: Fields) -> dict[str, Tree]:
    """How many lines of each level there are in every stretch of time, and no lines. Others than problems are one level."""
    histogram: Tree = {"field": names.schema.time, "fixed_interval": f"{stretch_s:.0f}s", "min_doc_count": 1}
    levels: Tree = {level: names.of_level(level) for level in PROBLEMS[::-1]}
    return {
        "query": found(wanted, Window(scope.baseline.start, scope.window.end), scope, names),
        "aggs": {
            "level": {
                "filters": {"filters": levels, "other_bucket_key": OTHERS},
                "aggs": {"time": {"date_histogram": histogram}},
            }
        },
        "size": 0,
        "timeout": f"{limits.seconds:g}s",
    }


def counts_of(patterns: Sequence[LogPattern], wanted: Tree, scope: Scope, limits: Limits, names: Fields) -> dict[str, Tree]:
    """How many lines of each pattern there are in baseline and window; the patterns that have phrases, by their place."""
    middle = iso(scope.window.start)
    when: Tree = {"field": names.schema.time, "ranges": [{"key": BEFORE, "to": middle}, {"key": NOW, "from": middle}]}
    filters: dict[str, Tree] = {}
    for place, pattern in enumerate(patterns):
        said: list[Tree] = [{"match_phrase": {names.schema.message: phrase}} for phrase in phrases(pattern.pattern)]
        if said:
            of: Tree = {"term": {names.exact(names.schema.service): pattern.entity.name}}
            filters[str(place)] = {"bool": {"filter": [of, *said]}}
    return {
        "query": found(wanted, Window(scope.baseline.start, scope.window.end), scope, names),
        "aggs": {"patterns": {"filters": {"filters": filters}, "aggs": {"when": {"date_range": when}}}},
        "size": 0,
        "timeout": f"{limits.seconds:g}s",
    }


def history_of(scope: Scope, limits: Limits, names: Fields) -> dict[str, Tree]:
    """When the oldest line of all is from, and the first in the baseline; and how many lines that has."""
    first: Tree = {"first": {"min": {"field": names.schema.time}}}
    return {
        "query": _of_project({"match_all": {}}, scope, names),
        "aggs": {
            **first,  # type: ignore[dict-item]
            "baseline": {"filter": between(scope.baseline.start, scope.baseline.end, names), "aggs": first},
        },
        "size": 0,
        "timeout": f"{limits.seconds:g}s",
    }


def filled_fields(candidates: Sequence[str], project: str, limits: Limits) -> dict[str, Tree]:
    """Of each candidate, how many of some documents have a value in it, and in which fields the project's name stands."""
    there: dict[str, Tree] = {name: {"exists": {"field": name}} for name in candidates}
    named: dict[str, Tree] = {
        name: {"bool": {"should": [{"term": {form: project}} for form in (name, f"{name}.keyword")]}}
        for name in candidates
        if name in PROJECT
    }
    asked: dict[str, dict[str, Tree]] = {"filled": there, "project": named}
    return {
        "aggs": {name: {"filters": {"filters": filters}} for name, filters in asked.items() if filters},
        "size": 0,
        "track_total_hits": True,
        "terminate_after": MOST_LOOKED_AT,
        "timeout": f"{limits.seconds:g}s",
    }


def found(wanted: Tree, window: Window, scope: Scope, names: Fields) -> dict[str, Tree]:
    """The search for those of the system's lines in a window that ``wanted`` finds."""
    return {"bool": {"filter": [between(window.start, window.end, names), _of_project(names.translated(wanted), scope, names)]}}


def _of_project(query: Tree, scope: Scope, names: Fields) -> Tree:
    if not names.project:
        return query
    return {"bool": {"filter": [{"term": {names.exact(names.project): scope.project}}, query]}}


def line_in(fields: Mapping[str, list[object]], names: Fields) -> LogRecord:
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
    return LogRecord(
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
