"""Every component, who calls whom, the suspect and what it affects. A script lays the calls out; a table says the same."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from revelio.types import Evidence, RankedQuery, SpanStat
from webui.i18n import gettext
from webui.views import filters

_SIGNALS = 12
"""Signals of one component that are listed."""
_WATCHING = ("capture", "log_level")
"""Kinds of entities that watch the system and are no part of it."""
_SLOWER, _LEAST_MS = 2.0, 100.0
"""Calls are slower when they take so many times as long, and so much longer in milliseconds."""
Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Call:
    """Calls from one component to another. Figures are of the window, ``failed`` in [0, 1]; None where nothing was seen."""

    caller: str
    callee: str
    count: int | None
    per_s: float | None
    failed: float | None
    p95_ms: float | None
    failing: bool


@dataclass(frozen=True, slots=True)
class Node:
    """A component: ``mark`` is "suspect", "affected" (its calls to the suspect, or to one that is affected, do worse) or "".

    ``inside`` is False for what is called but is no service of the system; ``kinds`` are what it was seen as, ``parts`` such
    as its operations and tables; ``signals`` are names of metrics, ``queries`` pairs of id and title of an answer's queries.
    """

    name: str
    inside: bool
    mark: str
    kinds: tuple[str, ...]
    parts: tuple[str, ...]
    signals: tuple[str, ...]
    queries: tuple[tuple[str, str], ...]

    @property
    def role(self) -> str:
        """What it is first of all."""
        return next((r for r in ("service", "database", "redis server", "container", "host") if r in self.kinds), "")


@dataclass(frozen=True, slots=True)
class ServiceMap:
    """Every component once, and the calls between them; ``data`` is what a script draws: all that takes part in calls."""

    nodes: tuple[Node, ...]
    calls: tuple[Call, ...]
    data: str


def service_map(evidence: Evidence, suspects: Collection[str] = (), queries: Iterable[RankedQuery] = ()) -> ServiceMap | None:
    """The map of all that the evidence names; None when it names nothing."""
    edges = sorted({_ends(e.name) for e in evidence.entities if e.kind == "edge" and "->" in e.name})
    edges = [e for e in edges if e[0] != e[1]]
    figures = {_ends(s.entity.name): s for s in evidence.spans if s.entity.kind == "edge" and "->" in s.entity.name}
    calls = tuple(_call(e, figures.get(e), evidence.window.seconds) for e in edges)
    kinds, parts = _components(evidence)
    hit = affected([e for e in edges if (seen := figures.get(e)) and _worse(seen)], suspects)
    asked = [(q.query.id, q.query.title, {e.name.partition(": ")[0] for e in q.query.entities}) for q in queries]
    nodes = tuple(
        Node(
            name,
            "service" in kinds.get(name, ()),
            "suspect" if name in suspects else "affected" if name in hit else "",
            tuple(sorted(kinds.get(name, ()))),
            tuple(sorted(parts.get(name, ()))),
            _signals(evidence, name),
            tuple((id_, title) for id_, title, about in asked if name in about),
        )
        for name in sorted({*kinds, *parts, *(end for edge in edges for end in edge)})
    )
    return ServiceMap(nodes, calls, _data(nodes, calls)) if nodes else None


def _components(evidence: Evidence) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """What each name stands for, and its parts: ``cart: GET /cart`` is a part of ``cart``."""
    kinds: dict[str, set[str]] = {}
    parts: dict[str, set[str]] = {}
    for entity in evidence.entities:
        if "->" in entity.name or entity.kind in _WATCHING:
            continue
        owner, colon, part = entity.name.partition(": ")
        if colon:
            parts.setdefault(owner, set()).add(part)
        else:
            kinds.setdefault(owner, set()).add(entity.kind.replace("_", " "))
    return kinds, parts


def affected(edges: Iterable[Edge], suspects: Collection[str]) -> set[str]:
    """All that calls a suspect, directly or through others, by calls that do worse than before."""
    edges, hit = tuple(edges), set(suspects)
    while more := {caller for caller, callee in edges if callee in hit} - hit:
        hit |= more
    return hit - set(suspects)


def _signals(evidence: Evidence, name: str) -> tuple[str, ...]:
    return tuple(sorted({s.metric.partition(" ")[0].replace("_", " ") for s in evidence.series if s.entity.name == name}))[
        :_SIGNALS
    ]


def _data(nodes: Iterable[Node], calls: Iterable[Call]) -> str:
    drawn = {end for call in calls for end in (call.caller, call.callee)}
    return json.dumps(
        {
            "nodes": [{"name": n.name, "inside": n.inside, "mark": n.mark} for n in nodes if n.inside or n.name in drawn],
            "calls": [{"from": c.caller, "to": c.callee, "failing": c.failing, "words": _words(c)} for c in calls],
        },
        separators=(",", ":"),
    )


def _words(call: Call) -> str:
    """What an arrow is labelled with: rate, errors where there are any, latency."""
    parts = [gettext("%(rate)s/s") % {"rate": filters.figure(call.per_s)} if call.per_s else ""]
    parts.append(gettext("%(share)s errors") % {"share": filters.percent(call.failed)} if call.failed else "")
    parts.append(filters.duration(call.p95_ms) if call.p95_ms else "")
    return " · ".join(p for p in parts if p)


def _call(edge: Edge, figures: SpanStat | None, seconds: float) -> Call:
    now = figures.now if figures else None
    if figures is None or now is None or not now.count:
        return Call(*edge, now.count if now else None, None, None, None, False)
    share = now.errors / now.count
    per_s = now.count / seconds if seconds > 0 else None
    return Call(*edge, now.count, per_s, share, now.p95_ms, _failing(figures))


def _worse(seen: SpanStat) -> bool:
    """Whether more of the calls fail than before, or whether they take much longer."""
    slower = seen.before.count and seen.now.p95_ms > max(_SLOWER * seen.before.p95_ms, seen.before.p95_ms + _LEAST_MS)
    return bool(slower) or _failing(seen)


def _failing(seen: SpanStat) -> bool:
    if not seen.now.count:
        return False
    usual = seen.before.errors / seen.before.count if seen.before.count else 0.0
    return seen.now.errors / seen.now.count > max(2 * usual, 0.05)


def _ends(name: str) -> Edge:
    caller, _, callee = name.partition("->")
    return caller, callee
