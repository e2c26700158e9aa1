"""Calls and requests as facts: what fails, what is slow, which look-ups get no answer, who waits for whom."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise

from revelio.presentation.blocking import tree
from revelio.presentation.facts.fact import Fact
from revelio.presentation.facts.figures import component_of, title_of
from revelio.presentation.rows import rows_by_role
from revelio.support.numbers import format_duration
from revelio.types import Evidence, Query, Result, SpanStat

_FAILING, _SLOWER, _LEAST_MS = 0.2, 2.0, 100.0
"""Users feel a request when this share of it fails, or when it takes so many times as long and so much longer."""


def failed_calls(query: Query, evidence: Evidence) -> Fact | None:
    """How many spans of what the query is about fail now; None where no more fail than before."""
    worst = max(_about(query, evidence), key=lambda s: (s.now.errors, s.now.count), default=None)
    if worst is None or worst.now.errors <= worst.before.errors:
        return None
    name = _called(worst)
    words = (
        f"{worst.now.errors:,} of {worst.now.count:,} {name} failed ({worst.before.errors:,} of {worst.before.count:,} before)"
    )
    target = worst.entity.name.partition("->")[2] or worst.service
    return Fact("calls", target, (words,), None, f"open one failed trace and read what {target} answered")


def slow_calls(query: Query, result: Result) -> Fact | None:
    """The operation that slowed down most; None where the result lists none."""
    rows = rows_by_role(result, ("operation", "now", "before"))
    timed = [(str(r["operation"]), r["now"], r["before"]) for r in rows]
    known = [
        (name, float(now), float(was))
        for name, now, was in timed
        if isinstance(now, int | float) and isinstance(was, int | float)
    ]
    if not known:
        return None
    name, now, was = max(known, key=lambda one: one[1] - one[2])
    component = component_of(query)
    words = f"{title_of(query)}: {name} takes {format_duration(now)} (p95, normally {format_duration(was)})"
    return Fact("calls", component, (words,), None, "open the slowest trace and see where its time goes")


def look_ups(result: Result) -> Fact | None:
    """Names that a component cannot resolve; None where all were found."""
    failed: dict[tuple[str, str], float] = defaultdict(float)
    total: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows_by_role(result, ("source", "name", "answer", "now", "before")):
        key, now = (str(row["source"]), str(row["name"])), row["now"]
        if isinstance(now, int | float):
            total[key] += now
            failed[key] += now if row["answer"] != "found" else 0.0
    worst = sorted((k for k in failed if failed[k]), key=lambda k: (-failed[k], k))[:2]
    if not worst:
        return None
    source = worst[0][0]
    names = " and ".join(f"{name} ({failed[s, name]:.0f} of {total[s, name]:.0f} look-ups)" for s, name in worst)
    return Fact(
        "calls", source, (f"{source} gets no answer from DNS for {names}",), None, f"check the name server that {source} asks"
    )


def blocked(query: Query, result: Result) -> Fact | None:
    """The session that most others wait for; None where nothing waits."""
    shown = tree(result)
    holder = next((n for n in shown.nodes if n.mark), None) if shown else None
    if shown is None or holder is None:
        return None
    waiting = sum(1 for n in shown.nodes if n.depth > 0)
    words = f"{holder.name} makes {waiting:,} other sessions wait: {holder.detail}"
    return Fact("calls", component_of(query), (words,), None, f"find out why {holder.name} does not finish, or end it")


def felt(evidence: Evidence, report: str) -> Fact | None:
    """What users feel: of the services that no other calls, the failing request that the report names, else the one that fails
    most, else the one that slowed most."""
    called = {s.entity.name.partition("->")[2] for s in evidence.spans if s.entity.kind == "edge"}
    first = [s for s in evidence.spans if s.entity.kind == "operation" and s.service not in called and s.now.count]
    failing = [s for s in first if _share(s.now.errors, s.now.count) - _share(s.before.errors, s.before.count) >= _FAILING]
    if failing:
        worst = max(failing, key=lambda s: (_named(s, report), s.now.errors, s.entity))
        words = f"{worst.now.errors:,} of {worst.now.count:,} {_called(worst)} failed"
        return Fact("calls", worst.service, (words,), worst.first_error_at)
    slow = [s for s in first if s.before.p95_ms and s.now.p95_ms >= max(_SLOWER * s.before.p95_ms, s.before.p95_ms + _LEAST_MS)]
    if not slow:
        return None
    worst = max(slow, key=lambda s: ((s.now.p95_ms - s.before.p95_ms) * s.now.count, s.entity))
    times = f"{format_duration(worst.now.p95_ms)} (p95, normally {format_duration(worst.before.p95_ms)})"
    return Fact("calls", worst.service, (f"{_operation(worst)} at {worst.service} takes {times}",), None)


def _about(query: Query, evidence: Evidence) -> Iterable[SpanStat]:
    names = [e.name for e in query.entities]
    wanted = {*names, "->".join(names)}
    services = {e.name for e in query.entities if e.kind == "service"} if len(names) == 1 else set()
    return [s for s in evidence.spans if s.entity.name in wanted or s.service in services]


def _called(span: SpanStat) -> str:
    caller, arrow, target = span.entity.name.partition("->")
    return f"calls from {caller} to {target}" if arrow else f"requests for {_operation(span)} at {span.service}"


def _operation(span: SpanStat) -> str:
    return span.entity.name.partition(": ")[2] or span.entity.name


def _named(span: SpanStat, report: str) -> bool:
    """Whether the report has a word of the operation's path, plural or not; "log in" names "login"."""
    words = [w.rstrip("s") for w in re.findall(r"[a-z]+", report.lower())]
    said = {*words, *map("".join, pairwise(words))}
    path = re.sub(r"^[A-Z]+ |\{[^}]*\}", "", _operation(span)).lower()
    return any(w.rstrip("s") in said for w in re.findall(r"[a-z]{3,}", path))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
