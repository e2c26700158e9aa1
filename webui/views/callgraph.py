"""Who calls whom, laid out in columns from callers to callees, for a drawing and a list alike.

The layout is Sugiyama's: break cycles, layer by longest path, order layers by barycentre, route through gaps. networkx has no
crossing reduction and no edge routing, and takes half a second to import; a call graph has some dozens of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

from revelio.types import Evidence, SpanStat
from webui.views.filters import shorten

_COLUMN, _ROW, _HEIGHT, _MARGIN = 190.0, 54.0, 34.0, 12.0
_WIDTH = 128.0
_LONGEST = 16
_SWEEPS = 8

Edge = tuple[str, str]
Stop = str | tuple[str, str, int]
"""A node, or where an edge passes a column that it has no business in."""


@dataclass(frozen=True, slots=True)
class Node:
    """A box; ``x`` and ``y`` are its upper left corner. ``inside`` is False for what is called but is no service of its own."""

    name: str
    label: str
    x: float
    y: float
    inside: bool


@dataclass(frozen=True, slots=True)
class Call:
    """An arrow: ``path`` is SVG path data. Numbers are of the window, shares in [0, 1]; None where nothing was seen."""

    caller: str
    callee: str
    path: str
    count: int | None
    failed: float | None
    p95_ms: float | None
    failing: bool


@dataclass(frozen=True, slots=True)
class CallGraph:
    """The whole drawing, in pixels."""

    nodes: tuple[Node, ...]
    calls: tuple[Call, ...]
    width: float
    height: float
    node_width: float = _WIDTH
    node_height: float = _HEIGHT


def call_graph(evidence: Evidence) -> CallGraph | None:
    """The graph of the edges that the evidence names; None when it names none."""
    edges = sorted({_ends(e.name) for e in evidence.entities if e.kind == "edge" and "->" in e.name})
    edges = [e for e in edges if e[0] != e[1]]
    if not edges:
        return None
    services = {e.name for e in evidence.entities if e.kind == "service"}
    names = sorted({end for edge in edges for end in edge} | services)
    places = layout(names, edges)
    figures = {_ends(s.entity.name): s for s in evidence.spans if s.entity.kind == "edge" and "->" in s.entity.name}
    nodes = tuple(Node(n, shorten(n, _LONGEST), *places[n], n in services) for n in names)
    calls = tuple(_call(e, _path(e, places), figures.get(e)) for e in edges)
    bottom = max(y for _, y in places.values())
    right = max(x for x, _ in places.values())
    return CallGraph(nodes, calls, right + _WIDTH + _MARGIN, bottom + _HEIGHT + _MARGIN)


def layout(names: Iterable[str], edges: Iterable[Edge]) -> dict[Stop, tuple[float, float]]:
    """The upper left corner of every node, and of every place that a long edge passes (caller, callee, column)."""
    forward = _acyclic(sorted(names), sorted(edges))
    before: dict[str, set[str]] = {name: set() for name in sorted(names)}
    for caller, callee in forward:
        before[callee].add(caller)
    column: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        column[name] = max((column[b] + 1 for b in before[name]), default=0)
    rows: list[list[Stop]] = [[] for _ in range(max(column.values(), default=0) + 1)]
    for name in before:
        rows[column[name]].append(name)
    neighbours: dict[Stop, list[Stop]] = {}
    for caller, callee in forward:
        stops: list[Stop] = [caller, *((caller, callee, c) for c in range(column[caller] + 1, column[callee])), callee]
        for c in range(column[caller] + 1, column[callee]):
            rows[c].append((caller, callee, c))
        for one, other in pairwise(stops):
            neighbours.setdefault(one, []).append(other)
            neighbours.setdefault(other, []).append(one)
    _uncross(rows, neighbours)
    tallest = max(len(r) for r in rows)
    return {
        stop: (_MARGIN + c * _COLUMN, _MARGIN + (i + (tallest - len(row)) / 2) * _ROW)
        for c, row in enumerate(rows)
        for i, stop in enumerate(row)
    }


def _acyclic(names: list[str], edges: list[Edge]) -> list[Edge]:
    """The edges, with those reversed that would close a cycle, found depth first from the roots."""
    called = {callee for _, callee in edges}
    after: dict[str, list[str]] = {name: [] for name in names}
    for caller, callee in edges:
        after[caller].append(callee)
    forward: set[Edge] = set()
    open_, done = set[str](), set[str]()
    for root in sorted(names, key=lambda n: (n in called, n)):
        path = [(root, iter(after[root]))] if root not in done else []
        open_.add(root)
        while path:
            name, rest = path[-1]
            for callee in rest:
                forward.add((callee, name) if callee in open_ else (name, callee))
                if callee not in open_ and callee not in done:
                    open_.add(callee)
                    path.append((callee, iter(after[callee])))
                    break
            else:
                path.pop()
                open_.discard(name)
                done.add(name)
        open_.discard(root)
    return sorted(forward)


def _uncross(rows: list[list[Stop]], neighbours: Mapping[Stop, list[Stop]]) -> None:
    """Order each column by the mean place of its neighbours in the column last ordered, to and fro."""
    there = range(1, len(rows))
    back = range(len(rows) - 2, -1, -1)
    for sweep in range(_SWEEPS):
        step = -1 if sweep % 2 == 0 else 1
        for c in there if sweep % 2 == 0 else back:
            at = {stop: i / max(1, len(rows[c + step]) - 1) for i, stop in enumerate(rows[c + step])}
            own = {stop: i / max(1, len(rows[c]) - 1) for i, stop in enumerate(rows[c])}
            means = {}
            for stop in rows[c]:
                seen = [at[n] for n in neighbours.get(stop, ()) if n in at]
                means[stop] = sum(seen) / len(seen) if seen else own[stop]
            rows[c].sort(key=lambda s: means[s])


def _path(edge: Edge, places: Mapping[Stop, tuple[float, float]]) -> str:
    caller, callee = edge
    (x1, y1), (x2, y2) = places[caller], places[callee]
    if x2 < x1:  # it closes a cycle: back along the way that its turned edge would take
        passed = sorted((p[2], p) for p in places if isinstance(p, tuple) and p[:2] == (callee, caller))[::-1]
        points = [(x1, y1), *((places[p][0] + _WIDTH, places[p][1]) for _, p in passed), (x2 + _WIDTH, y2)]
        ends = [(p[0] - _WIDTH, p[1]) for p in points]
    else:
        passed = sorted((p[2], p) for p in places if isinstance(p, tuple) and p[:2] == edge)
        points = [(x1 + _WIDTH, y1), *(places[p] for _, p in passed), (x2, y2)]
        ends = [(p[0] + _WIDTH, p[1]) for p in points]
    middle = _HEIGHT / 2
    drawn = f"M{points[0][0]:.0f} {points[0][1] + middle:.0f}"
    at = points[0]
    for i, (x, y) in enumerate(points[1:], 1):
        half = (at[0] + x) / 2
        drawn += f"C{half:.0f} {at[1] + middle:.0f} {half:.0f} {y + middle:.0f} {x:.0f} {y + middle:.0f}"
        at = (x, y)
        if i < len(points) - 1:
            at = ends[i]
            drawn += f"H{at[0]:.0f}"
    return drawn


def _call(edge: Edge, path: str, figures: SpanStat | None) -> Call:
    now = figures.now if figures else None
    if figures is None or now is None or not now.count:
        return Call(*edge, path, now.count if now else None, None, None, False)
    share = now.errors / now.count
    usual = figures.before.errors / figures.before.count if figures.before.count else 0.0
    return Call(*edge, path, now.count, share, now.p95_ms, share > max(2 * usual, 0.05))


def _ends(name: str) -> Edge:
    caller, _, callee = name.partition("->")
    return caller, callee
