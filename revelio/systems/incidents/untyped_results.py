"""Types results that were recorded or stored before results had a kind. New results are never recognised this way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from revelio.types import ColumnRole, Result, ResultKind

_NOT_RUN = "not run: "
"""How the summary of a failed run used to begin."""

Form = tuple[ResultKind, tuple[ColumnRole, ...]]

_FORMS: Mapping[tuple[str, ...], Form] = {
    ("at", "level", "service", "message", "error", "origin", "trace"): (
        "log_lines",
        ("at", "level", "service", "message", "error_type", "origin", "trace_id"),
    ),
    ("service", "exception", "noticed at", "lines", "example"): (
        "exceptions",
        ("service", "error_type", "origin", "count", "example"),
    ),
    ("service", "level", "pattern", "lines", "first seen", "example"): (
        "log_patterns",
        ("service", "level", "pattern", "count", "first_seen", "example"),
    ),
    ("operation", "spans", "median ms", "p95 ms", "median ms before", "p95 ms before"): (
        "operations",
        ("operation", "spans", "", "now", "", "before"),
    ),
    ("operation", "spans", "own ms", "own ms before", "share of the time"): (
        "self_time",
        ("operation", "spans", "now", "before", ""),
    ),
    ("service", "spans", "own ms", "own ms before", "share of the time"): (
        "self_time",
        ("service", "spans", "now", "before", ""),
    ),
    ("at", "container", "what", "before", "after"): ("changes", ("at", "container", "field", "old", "new")),
    ("container", "at", "passed", "output"): ("health_checks", ("container", "at", "passed", "output")),
    (
        *("blocked pid", "blocked", "waited, s", "blocking pid", "blocking"),
        *("its state", "its transaction, s", "blocked statement", "blocking statement"),
    ): (
        "sessions",
        (
            *("blocked_pid", "blocked", "waited_s", "blocking_pid", "blocking"),
            *("state", "transaction_s", "statement", "blocking_statement"),
        ),
    ),
    ("pid", "state", "lock", "table", "mode", "granted", "transaction, s", "blocks sessions", "statement"): (
        "locks",
        ("pid", "state", "lock", "table", "mode", "granted", "transaction_s", "waiters", "statement"),
    ),
}
_FLOW_ENDS = (("sent by", "to"), ("from", "to"))
_LOOKUPS = ("asked by", "name", "answer")
_MEASURES = {"sent again or missing": "retransmissions", "unanswered": "unanswered SYNs", "refused": "refused connections"}


def typed(result: Result) -> Result:
    """The result with the kind, roles and error that its titles and summary imply; a typed result as it is."""
    if result.kind != "unspecified":
        return result
    if result.summary.startswith(_NOT_RUN):
        return replace(Result.failed(result.summary.removeprefix(_NOT_RUN)), took_ms=result.took_ms)
    kind, roles, measure = _form(result)
    return replace(result, kind=kind, roles=roles, measure=measure)


def _form(result: Result) -> tuple[ResultKind, tuple[ColumnRole, ...], str]:
    columns = result.columns
    if columns in _FORMS:
        return *_FORMS[columns], ""
    if columns[:2] in _FLOW_ENDS and len(columns) >= 6:
        return _flow(columns)
    if columns[:3] == _LOOKUPS and len(columns) == 5:
        return "name_lookups", ("source", "name", "answer", "now", "before"), ""
    if columns[:1] == ("container",):
        return "containers", _roles(columns, {0: "container"}), ""
    if result.spans:
        return "spans", _roles(columns, {}), ""
    return ("series" if result.series and not columns else "table"), _roles(columns, {}), ""


def _flow(columns: tuple[str, ...]) -> tuple[ResultKind, tuple[ColumnRole, ...], str]:
    ends: dict[int, ColumnRole] = {0: "source", 1: "target", 2: "port"}
    if "p95, ms, now" in columns and "p95, ms, before" in columns:
        now, before = columns.index("p95, ms, now"), columns.index("p95, ms, before")
        return "flows", _roles(columns, ends | {now: "now", before: "before"}), "response time p95"
    if columns[3] != "protocol":
        return "table", _roles(columns, {}), ""
    words = "traffic" if columns[4] == "bytes/s now" else columns[4].partition(" in the last ")[0]
    return "flows", _roles(columns, ends | {3: "protocol", 4: "now", 5: "before"}), _MEASURES.get(words, words)


def _roles(columns: tuple[str, ...], known: Mapping[int, ColumnRole]) -> tuple[ColumnRole, ...]:
    return tuple(known.get(index, "") for index in range(len(columns)))
