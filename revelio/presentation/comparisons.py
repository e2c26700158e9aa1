"""Tables of tools as groups with a figure now and before: log lines by pattern, packets by flow, spans by operation."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from revelio.anomaly import SIGNIFICANT_SIGMA, count_deviation
from revelio.presentation.panels import Group, Groups
from revelio.tools.elasticsearch.patterns import mask
from revelio.tools.figures import counted
from revelio.types import Cell, Evidence, LogPattern, Result

MAX_GROUPS = 20
MORE, LEAST_MS = 2.0, 10.0
"""A duration or a rate stands out when it is at least this many times what it was, and a duration at least so much longer."""

Row = tuple[Cell, ...]
Columns = tuple[str, ...]
LINES = ("at", "level", "service", "message", "error", "origin", "trace")
EXCEPTIONS = ("service", "exception", "noticed at", "lines", "example")
NEW_PATTERNS = ("service", "level", "pattern", "lines", "first seen", "example")
OPERATIONS = ("operation", "spans", "median ms", "p95 ms", "median ms before", "p95 ms before")
OWN_TIME = ("spans", "own ms", "own ms before", "share of the time")
FLOW_ENDS = (("sent by", "to"), ("from", "to"))
LOOK_UPS = ("asked by", "name", "answer")


def groups(result: Result, evidence: Evidence) -> Groups | None:
    """The result's rows as groups; None where they are no such table, or have nothing in them."""
    if not result.rows:
        return None
    if result.columns == LINES:
        return _lines(result, evidence)
    form = _form(result.columns)
    if form is None:
        return None
    whole = [row for row in result.rows if len(row) == len(result.columns)]
    made = [form.group(row, evidence) for row in whole]
    return _told(form, made, evidence)


@dataclass(frozen=True, slots=True)
class _Form:
    """How rows of one table become groups.

    ``counts`` when the figures are of the whole window, so that they need its length; groups about ``calm`` never stand out.
    """

    title: str
    unit: str
    group: Callable[[Row, Evidence], Group]
    counts: bool = True
    calm: str = ""


def _form(columns: Columns) -> _Form | None:
    if columns == EXCEPTIONS:
        return _Form("Exceptions by type and place", "lines", _exception)
    if columns == NEW_PATTERNS:
        return _Form("Messages that nobody logged before", "lines", _new_pattern)
    if columns == OPERATIONS:
        return _Form("p95 of each operation", "ms", _operation, counts=False)
    if columns[1:] == OWN_TIME:
        return _Form(f"Own time of each {columns[0]}, a span", "ms", _own_time, counts=False)
    if columns[:3] == LOOK_UPS and len(columns) == 5:
        return _Form("Look-ups of names", "look-ups", _look_up, calm="found")
    if columns[:2] in FLOW_ENDS:
        return _flow_form(columns)
    return None


def _flow_form(columns: Columns) -> _Form | None:
    if "p95, ms, now" in columns and "p95, ms, before" in columns:
        now, before = columns.index("p95, ms, now"), columns.index("p95, ms, before")
        return _Form(
            "p95 until the first byte of an answer, by flow", "ms", lambda row, _: _flow(row, now, before, ""), counts=False
        )
    if len(columns) < 6 or columns[3] != "protocol":
        return None
    if columns[4] == "bytes/s now":
        return _Form("Traffic by flow", "bytes/s", lambda row, _: _flow(row, 4, 5, str(row[3])), counts=False)
    what = columns[4].partition(" in the last ")[0]
    return _Form(f"{what[:1].upper()}{what[1:]}, by flow", "packets", lambda row, _: _flow(row, 4, 5, str(row[3])))


def _lines(result: Result, evidence: Evidence) -> Groups | None:
    """Log lines by pattern; counts now and before are the snapshot's where it knows the pattern, else of the lines listed."""
    known = {(p.entity.name, p.level, p.pattern): p for p in evidence.logs}
    members: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in result.rows:
        if len(row) == len(LINES):
            members[str(row[2]), str(row[1]), mask(str(row[3] or ""), str(row[4] or ""))].append(row)
    if len({row[6] for rows in members.values() for row in rows}) == 1 < len(result.rows):
        return None  # the story of one request, which is read in the order of time
    made = [_line_group(key, rows, known) for key, rows in members.items()]
    made.sort(key=lambda g: -(g.now or 0.0))
    return _told(_Form("Lines by pattern", "lines", _new_pattern), made, evidence)


def _line_group(key: tuple[str, str, str], rows: list[Row], known: Mapping[tuple[str, str, str], LogPattern]) -> Group:
    service, level, pattern = key
    seen = known.get(key)
    now = float(max(len(rows), seen.count if seen else 0))
    before = float(seen.baseline_count) if seen else None
    return Group(pattern, (level, service), now, before, example=str(rows[0][3] or ""))


def _exception(row: Row, evidence: Evidence) -> Group:
    service, error, place, count, example = row
    past = [p for p in evidence.logs if p.entity.name == service and error and f"[{error}]" in p.pattern]
    before = float(sum(p.baseline_count for p in past)) if past else None
    label = f"{error or 'no type'} at {place or 'an unknown line'}"
    return Group(label, (str(service),), _number(count), before, example=str(example or ""))


def _new_pattern(row: Row, evidence: Evidence) -> Group:
    service, level, pattern, count, _, example = row
    return Group(str(pattern), (str(level), str(service)), _number(count), 0.0, example=str(example or ""))


def _operation(row: Row, evidence: Evidence) -> Group:
    return _compared(str(row[0]), (_spans(row[1]),), row[3], row[5])


def _own_time(row: Row, evidence: Evidence) -> Group:
    return _compared(str(row[0]), (_spans(row[1]),), row[2], row[3])


def _look_up(row: Row, evidence: Evidence) -> Group:
    return _compared(f"{row[0]} asks for {row[1]}", (str(row[2]),), row[3], row[4])


def _flow(row: Row, now: int, before: int, protocol: str) -> Group:
    label = f"{row[0]} → {row[1]}:{row[2]}"
    return _compared(label, (protocol,) if protocol else (), row[now], row[before])


def _compared(label: str, about: tuple[str, ...], now: Cell, before: Cell) -> Group:
    return Group(label, about, _number(now), _number(before))


def _number(cell: Cell) -> float | None:
    """A count, a duration or a rate; None for what is none."""
    if not isinstance(cell, int | float) or isinstance(cell, bool) or not 0.0 <= cell < math.inf:
        return None
    return float(cell)


def _spans(count: Cell) -> str:
    return counted(_number(count) or 0.0, "span")


def _told(form: _Form, made: list[Group], evidence: Evidence) -> Groups | None:
    if not made:
        return None
    now_s, before_s = (evidence.window.seconds, evidence.baseline.seconds) if form.counts else (0.0, 0.0)
    shown = tuple(
        g if form.calm and form.calm in g.about else replace(g, mark=_mark(g, form, evidence)) for g in made[:MAX_GROUPS]
    )
    return Groups(form.title, form.unit, shown, now_s, before_s, max(0, len(made) - MAX_GROUPS))


def _mark(group: Group, form: _Form, evidence: Evidence) -> Literal["", "new", "more", "gone"]:
    now, before = group.now, group.before
    if now is None or before is None or now == before:
        return ""
    if form.counts:
        far = count_deviation(before, evidence.baseline.seconds, now, evidence.window.seconds)
        return "new" if before == 0.0 else "gone" if now == 0.0 else "more" if far >= SIGNIFICANT_SIGMA else ""
    longer = form.unit != "ms" or now - before >= LEAST_MS
    return "more" if before > 0.0 and longer and now >= MORE * before else ""
