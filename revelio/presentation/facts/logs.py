"""Log lines as facts: the line that names the problem, how often, and since when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from revelio.presentation.facts.fact import Fact, quoted, since, times
from revelio.presentation.facts.figures import component_of
from revelio.presentation.rows import rows_by_role
from revelio.tools.log_patterns import PROBLEMS, level_of, mask
from revelio.types import Entity, Evidence, LogPattern, Query, Result

_PREFIX = re.compile(
    r"^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*\s*(?:UTC|GMT)?\s*)?"
    r"(?:\[[\w.-]+\]\s*)?(?:(?:ERROR|FATAL|PANIC|WARN(?:ING)?|LOG)\b:?\s*)?"
)
"""What loggers write before a message: time, process, level. The quotation leaves it out."""
_SEVERAL = 3
"""An error that came fewer times is not what everything follows from."""
_STATEMENT = re.compile(
    r"STATEMENT:\s*(INSERT INTO \S+|UPDATE \S+|DELETE FROM \S+|[A-Z]+ (?:TABLE|INDEX) \S+|SELECT\b.*?\bFROM \S+)"
)


def log_line(query: Query, evidence: Evidence, result: Result | None) -> Fact | None:
    """The most frequent new problem that the query found, else the one that increased most; None without any."""
    names = {e.name.partition(": ")[0] for e in query.entities}
    known = [p for p in evidence.logs if not names or p.entity.name in names]
    if result and result.kind == "exceptions":
        return _exception(result)
    found = patterns_of(result, evidence) if result else ()
    return worst(found or known, component_of(query))


def worst(patterns: Iterable[LogPattern], component: str = "") -> Fact | None:
    """The worst of the patterns as a fact."""
    seen = [p for p in patterns if p.count > 0]
    problems = [p for p in seen if level_of(p.level) in PROBLEMS]
    if not problems:
        return None
    first = max(problems, key=lambda p: (p.baseline_count == 0, level_of(p.level) == "ERROR", p.count - p.baseline_count))
    name = first.entity.name or component
    at = first.first_seen if first.baseline_count == 0 else None
    step = f"read the lines of {name} around the first of them, and the code that writes them"
    return Fact("log", name, (f"{_said(first, seen, name)}{_often(first)}", *since(at)), at, step)


def new_error(component: str, evidence: Evidence) -> tuple[str, float] | None:
    """The error that a component did not log before and logs most now, quoted with its count, and when it first came."""
    new = [p for p in evidence.logs if p.entity.name == component and p.baseline_count == 0 and level_of(p.level) == "ERROR"]
    most = max(new, key=lambda p: p.count, default=None)
    if most is None or most.count < _SEVERAL:
        return None
    return f"{component} logs {quoted(_clean(most.example or most.pattern))} {times(most.count)}", most.first_seen


def _exception(result: Result) -> Fact | None:
    rows = rows_by_role(result, ("service", "error_type", "origin", "count", "example"))
    if not rows:
        return None
    first = max(rows, key=lambda r: r["count"] if isinstance(r["count"], int) else 0)
    name, count = str(first["service"]), first["count"] if isinstance(first["count"], int) else 1
    place = f" at {first['origin']}" if first["origin"] else ""
    raised, example = first["error_type"] or "an exception", _clean(str(first["example"] or ""))
    words = f"{name} raises {raised}{place} {times(count)}: {quoted(example)}"
    return Fact("log", name, (words,), None, f"read the code of {name}{place}")


def _said(line: LogPattern, others: Sequence[LogPattern], name: str) -> str:
    """The line; one of a database with the statement that it was about, which it logs beside it."""
    message = _clean(line.example or line.pattern)
    for other in others:
        statement = _STATEMENT.search(other.example or other.pattern)
        if statement and other.entity == line.entity:
            return f"{name} rejects {quoted(statement[1])}: {quoted(message)}"
    return f"{name} logs {quoted(message)}"


def _often(line: LogPattern) -> str:
    return f" {times(line.count)}{f' ({line.baseline_count:,} before)' if line.baseline_count else ''}"


def _clean(text: str) -> str:
    first = next((part for part in text.splitlines() if part.strip()), "")
    return _PREFIX.sub("", first) or first


def patterns_of(result: Result, evidence: Evidence) -> tuple[LogPattern, ...]:
    """The lines of a result as patterns. Where the snapshot knows a pattern, its counts and its first line are used."""
    known = {(p.entity.name, level_of(p.level), p.pattern): p for p in evidence.logs}
    found: dict[tuple[str, str, str], LogPattern] = {}
    if result.kind == "log_patterns":
        for row in rows_by_role(result, ("service", "level", "pattern", "count", "first_seen", "example")):
            key = (str(row["service"]), level_of(str(row["level"])), str(row["pattern"]))
            first = row["first_seen"] if isinstance(row["first_seen"], int | float) else evidence.window.start
            count = row["count"] if isinstance(row["count"], int) else 1
            found[key] = LogPattern(
                Entity("log_source", key[0]), key[1], key[2], count, 0, float(first), str(row["example"] or "")
            )
    elif result.kind == "log_lines":
        for row in rows_by_role(result, ("at", "service", "level", "message", "error_type")):
            message = str(row["message"] or "")
            key = (str(row["service"]), level_of(str(row["level"])), mask(message, str(row["error_type"] or "")))
            if key in known:
                found[key] = known[key]
    return tuple(found.values())
