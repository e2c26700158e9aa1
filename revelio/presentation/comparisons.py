"""Results as groups with a value now and before: log lines by pattern, packets by flow, spans by operation."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from revelio.presentation.panels import Group, Groups
from revelio.presentation.rows import Row, rows_by_role
from revelio.support.anomaly import SIGNIFICANT_SIGMA, count_deviation
from revelio.support.numbers import format_count
from revelio.tools.log_patterns import mask
from revelio.types import Cell, ColumnRole, Evidence, LogPattern, Result, ResultKind, Window

MAX_GROUPS = 20
MORE, LEAST_MS = 2.0, 10.0
"""A duration or a rate is marked from this many times the value before, a duration also only from this much more."""


@dataclass(frozen=True, slots=True)
class _Form:
    """How rows become groups. ``counts`` when values are of the whole window, so that they need its length.

    Groups about ``normal`` are never marked.
    """

    title: str
    unit: str
    needed: tuple[ColumnRole, ...]
    group: Callable[[Row, Evidence], Group]
    counts: bool = True
    normal: str = ""

    def past(self, evidence: Evidence) -> Window:
        """The part of the baseline that its counts are of: of log lines, that in which any came in."""
        return evidence.baseline_of("logs") if self.unit == "lines" else evidence.baseline


def groups(result: Result, evidence: Evidence) -> Groups | None:
    """The rows as groups; None where they are no comparison, or where there are none."""
    if result.kind == "log_lines":
        return _lines(result, evidence)
    form = _flow_form(result.measure) if result.kind == "flows" else _FORMS.get(result.kind)
    if form is None:
        return None
    made = [form.group(row, evidence) for row in rows_by_role(result, form.needed)]
    return _panel(form, made, evidence)


def _lines(result: Result, evidence: Evidence) -> Groups | None:
    """Log lines by pattern; counts now and before are the snapshot's where it knows the pattern, else of the lines listed."""
    known = {(p.entity.name, p.level, p.pattern): p for p in evidence.logs}
    members: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows_by_role(result, ("service", "level", "message", "error_type", "trace_id")):
        pattern = mask(str(row["message"] or ""), str(row["error_type"] or ""))
        members[str(row["service"]), str(row["level"]), pattern].append(row)
    if len({row["trace_id"] for rows in members.values() for row in rows}) == 1 < len(result.rows):
        return None  # the lines of one request are read in the order of time
    made = [_line_group(key, rows, known) for key, rows in members.items()]
    made.sort(key=lambda g: -(g.now or 0.0))
    return _panel(_Form("Lines by pattern", "lines", (), _new_pattern), made, evidence)


def _line_group(key: tuple[str, str, str], rows: list[Row], known: Mapping[tuple[str, str, str], LogPattern]) -> Group:
    service, level, pattern = key
    seen = known.get(key)
    now = float(max(len(rows), seen.count if seen else 0))
    before = float(seen.baseline_count) if seen else None
    return Group(pattern, (level, service), now, before, example=str(rows[0]["message"] or ""))


def _exception(row: Row, evidence: Evidence) -> Group:
    service, error = str(row["service"]), row["error_type"]
    past = [p for p in evidence.logs if p.entity.name == service and error and f"[{error}]" in p.pattern]
    before = float(sum(p.baseline_count for p in past)) if past else None
    label = f"{error or 'no type'} at {row['origin'] or 'an unknown line'}"
    return Group(label, (service,), _number(row["count"]), before, example=str(row["example"] or ""))


def _new_pattern(row: Row, evidence: Evidence) -> Group:
    about = (str(row["level"]), str(row["service"]))
    return Group(str(row["pattern"]), about, _number(row["count"]), 0.0, example=str(row["example"] or ""))


def _operation(row: Row, evidence: Evidence) -> Group:
    label = row["operation"] if "operation" in row else row.get("service")
    return _compared(row, str(label), format_count(_number(row["spans"]) or 0.0, "span"))


def _lookup(row: Row, evidence: Evidence) -> Group:
    return _compared(row, f"{row['source']} asks for {row['name']}", str(row["answer"]))


def _flow(row: Row, evidence: Evidence) -> Group:
    return _compared(row, f"{row['source']} → {row['target']}:{row['port']}")


def _flow_with_protocol(row: Row, evidence: Evidence) -> Group:
    return _compared(row, f"{row['source']} → {row['target']}:{row['port']}", str(row.get("protocol", "")))


def _compared(row: Row, label: str, *about: str) -> Group:
    return Group(label, about, _number(row["now"]), _number(row["before"]))


_FLOW: tuple[ColumnRole, ...] = ("source", "target", "port", "now", "before")
_FORMS: Mapping[ResultKind, _Form] = {
    "exceptions": _Form(
        "Exceptions by type and place", "lines", ("service", "error_type", "origin", "count", "example"), _exception
    ),
    "log_patterns": _Form("New log patterns", "lines", ("service", "level", "pattern", "count", "example"), _new_pattern),
    "operations": _Form("p95 of each operation", "ms", ("operation", "spans", "now", "before"), _operation, counts=False),
    "self_time": _Form("Self time per span", "ms", ("spans", "now", "before"), _operation, counts=False),
    "name_lookups": _Form("DNS look-ups", "look-ups", ("source", "name", "answer", "now", "before"), _lookup, normal="found"),
}


def _flow_form(measure: str) -> _Form:
    if measure == "response time p95":
        return _Form("p95 time to first byte, by flow", "ms", _FLOW, _flow, counts=False)
    if measure == "traffic":
        return _Form("Traffic by flow", "bytes/s", _FLOW, _flow_with_protocol, counts=False)
    return _Form(f"{measure[:1].upper()}{measure[1:] or 'Packets'}, by flow", "packets", _FLOW, _flow_with_protocol)


def _number(cell: Cell) -> float | None:
    """A count, a duration or a rate; None for anything else."""
    if not isinstance(cell, int | float) or isinstance(cell, bool) or not 0.0 <= cell < math.inf:
        return None
    return float(cell)


def _panel(form: _Form, made: list[Group], evidence: Evidence) -> Groups | None:
    if not made:
        return None
    now_s, before_s = (evidence.window.seconds, form.past(evidence).seconds) if form.counts else (0.0, 0.0)
    shown = tuple(
        g if form.normal and form.normal in g.about else replace(g, mark=_mark(g, form, evidence)) for g in made[:MAX_GROUPS]
    )
    return Groups(form.title, form.unit, shown, now_s, before_s, max(0, len(made) - MAX_GROUPS))


def _mark(group: Group, form: _Form, evidence: Evidence) -> Literal["", "new", "more", "gone"]:
    now, before = group.now, group.before
    if now is None or before is None or now == before:
        return ""
    if form.counts:
        sigma = count_deviation(before, form.past(evidence).seconds, now, evidence.window.seconds)
        return "new" if before == 0.0 else "gone" if now == 0.0 else "more" if sigma >= SIGNIFICANT_SIGMA else ""
    longer = form.unit != "ms" or now - before >= LEAST_MS
    return "more" if before > 0.0 and longer and now >= MORE * before else ""
