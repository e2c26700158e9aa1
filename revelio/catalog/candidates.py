"""Catalog x inventory -> every query that could be asked here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from revelio.catalog import Catalog, ToolSpec
from revelio.catalog.conventions import recorded_profile, signals
from revelio.catalog.unreachable import asks_presence
from revelio.types import Entity, Evidence, Query, QueryTemplate, Reading

IMPORTED = "imported."
"""The ids of imported templates start so, and a snapshot keeps what each returns as a series of that name."""

OPEN = "open."
"""What series of metrics that no convention covers are called in a snapshot starts so."""

MOST = 20_000
"""Candidates of one question: ranking takes time and memory in proportion."""

ERRORS = "spans with errors"
"""What is held where some span failed: elsewhere a question about failed spans has no answer."""


NEW_LINES = "lines of new_problems"
"""What is held where lines are logged that were not before."""

_LINES = {"ERROR": "lines of error", "WARNING": "lines of warning"}
"""What is held where lines of a level were logged, now or before: elsewhere a question about them has no answer."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What there is to ask about: the entities and, of a live system, which sources answered and what they hold.

    ``held`` are pairs of a signal, "spans", ``ERRORS``, ``NEW_LINES`` or one of ``_LINES``, and the entity that it is known of.
    Both are None where nothing says it: then every source is taken to hold what the testbed has.
    """

    entities: frozenset[Entity]
    sources: frozenset[str] | None = None
    held: frozenset[tuple[str, str]] | None = None


def inventory(evidence: Evidence) -> Inventory:
    """What an evidence leaves to ask about."""
    entities = frozenset(evidence.entities)
    if evidence.sources is None:
        return Inventory(entities)
    spans = {("spans", name) for span in evidence.spans for name in (span.service, span.entity.name)}
    failed = [span for span in evidence.spans if span.now.errors or span.before.errors]
    spans |= {(ERRORS, name) for span in failed for name in (span.service, span.entity.name)}
    lines = {(_LINES[p.level], p.entity.name) for p in evidence.logs if p.level in _LINES and (p.count or p.baseline_count)}
    lines |= {(NEW_LINES, p.entity.name) for p in evidence.logs if p.count and not p.baseline_count}
    held = frozenset({(s.metric, s.entity.name) for s in evidence.series if _known(s.metric)} | spans | lines)
    return Inventory(entities, frozenset(evidence.sources), held)


def candidates(catalog: Catalog, there: Inventory | Iterable[Entity]) -> tuple[Query, ...]:
    """Bind each template's blanks to the entities that exist, in a stable order.

    A template with a ``service`` and a ``peer`` blank is bound to the edges that exist (``caller->callee``), not to all
    pairs. A template one of whose blanks has no entity yields nothing, and neither does one that cannot return data there.
    Where there would be more than ``MOST`` queries, every template keeps the same number at most, first by the names of
    what it is bound to.
    """
    there = there if isinstance(there, Inventory) else Inventory(frozenset(there))
    names = _names(there.entities)
    templates = [t for tool in catalog.tools for t in _of_tool(tool, there.sources)]
    return tuple(_bound(templates, names, there, _share([_count(template, names) for template in templates])))


def more_than(catalog: Catalog, there: Inventory, limit: int) -> bool:
    """Whether there are more candidates than ``limit``, without making all of them."""
    names, templates = _names(there.entities), [t for tool in catalog.tools for t in _of_tool(tool, there.sources)]
    if sum(_count(template, names) for template in templates) <= limit:
        return False
    return next(islice(_bound(templates, names, there, None), limit, None), None) is not None


def within(catalog: Catalog, there: Inventory, groups: Iterable[Collection[Entity]], limit: int) -> frozenset[Entity]:
    """The entities of the first of these groups that together have no more candidates than ``limit``; the first group at least.

    A template counts where something there answers some candidate of it.
    """
    held = None if there.held is None else {metric for metric, _ in there.held}
    templates = [t for tool in catalog.tools for t in _of_tool(tool, there.sources) if held is None or _any_held(t, held)]
    names: dict[str, list[str]] = {}
    chosen: set[Entity] = set()
    for group in groups:
        new = set(group) - chosen
        for entity in new:
            names.setdefault(entity.kind, []).append(entity.name)
        if chosen and sum(_count(template, names) for template in templates) > limit:
            break
        chosen |= new
    return frozenset(chosen)


def _names(entities: Iterable[Entity]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for entity in sorted(entities):
        names.setdefault(entity.kind, []).append(entity.name)
    return names


def _bound(
    templates: Iterable[QueryTemplate], names: dict[str, list[str]], there: Inventory, share: int | None
) -> Iterator[Query]:
    """The candidates, of each template the first ``share`` bindings."""
    for template in templates:
        for binding in islice(_bindings(template, names), share):
            query = Query(template, tuple(sorted(binding.items())))
            if there.held is None or _answerable(query, there.held):
                yield query


def not_asked(catalog: Catalog, evidence: Evidence) -> tuple[str, ...]:
    """A sentence on each source whose questions cannot be asked about this evidence, in the order of the catalog."""
    if evidence.sources is None:
        return ()
    there = {q.template.id: q.template for q in candidates(catalog, inventory(evidence))}.values()
    asked = Counter(t.tool for t in there if not asks_presence(t))
    told = []
    for tool in catalog.tools:
        names = {p.name: p.title for p in catalog.products if p.tool == tool.name}
        here = [title for name, title in names.items() if name in evidence.sources]
        silent = [names[p.name] for name in evidence.missing if (p := catalog.product(name)) and p.name in names]
        every = sum(not asks_presence(t) for t in (tool.asked(evidence.sources) if here else tool.templates))
        left = every - asked[tool.name]
        if left <= 0:
            continue
        why = "does not answer" if silent else "is not connected"
        why = "holds nothing that they read" if here else why
        title = " and ".join(here or silent or [tool.title])
        told.append(f"{title} {why}: {left} of its {every} questions are not asked")
    return tuple(told)


def _of_tool(tool: ToolSpec, sources: frozenset[str] | None) -> list[QueryTemplate]:
    """What can be asked of a tool; where no source of it answered, only whether it does."""
    if sources is None:
        return [t for t in tool.asked(None) if _in_recordings(t)]
    asked = tool.asked(sources)
    return [*asked, *(t for t in tool.templates if asks_presence(t) and t not in asked)]


def _in_recordings(template: QueryTemplate) -> bool:
    """Whether recordings that do not say what their sources hold may have what the template reads."""
    return all(r.metric in recorded_profile().rules for r in template.reads if r.source == "series" and r.metric in signals())


def _answerable(query: Query, held: frozenset[tuple[str, str]]) -> bool:
    """Whether some reading of the query is known of the entity that it is bound to; a question about presence always is."""
    readings = query.template.reads
    bound = dict(query.bindings)
    place = f"{bound['service']}->{bound['peer']}" if {"service", "peer"} <= bound.keys() else None
    names = [place] if place else list(bound.values())
    known = [reading for reading in readings if _kept(reading)]
    if not names and any(r.source == "logs" or r.metric.startswith(IMPORTED) for r in known):
        return any(metric == _held(r) for r in known for metric, _ in held)
    if not known or len(known) < len(readings) or not names:
        return True
    return any((_held(r), name) in held for r in known for name in names)


def _any_held(template: QueryTemplate, held: Collection[str]) -> bool:
    """Whether something there has one of the template's readings; where one of them may be silent, it counts as held."""
    return not template.reads or any(not _kept(r) or _held(r) in held for r in template.reads)


def _held(reading: Reading) -> str:
    if reading.source == "series":
        return reading.metric
    if reading.source == "logs":
        return f"lines of {reading.metric}"
    return ERRORS if reading.metric == "errors" else "spans"


def _kept(reading: Reading) -> bool:
    """Whether evidence that lacks it means that there is nothing to show; changes are silent when all is well."""
    of_lines = reading.source == "logs" and f"lines of {reading.metric}" in (NEW_LINES, *_LINES.values())
    return of_lines or reading.source == "spans" or (reading.source == "series" and _known(reading.metric))


def _known(metric: str) -> bool:
    """Whether a snapshot reads it wherever it is there."""
    return metric in signals() or metric.startswith(IMPORTED)


def _count(template: QueryTemplate, names: dict[str, list[str]]) -> int:
    """How many bindings there are, at most."""
    kinds = {b.name: b.kind for b in template.blanks}
    if kinds.get("service") == "service" and kinds.get("peer") == "service":
        kinds = {name: kind for name, kind in kinds.items() if name not in ("service", "peer")} | {"": "edge"}
    return math.prod(len(names.get(kind, ())) for kind in kinds.values())


def _share(counts: Sequence[int]) -> int:
    """The most that each may keep so that all together keep no more than ``MOST``, or one each."""
    left = MOST
    for place, count in enumerate(sorted(counts)):
        share = left // (len(counts) - place)
        if count > share:
            return max(1, share)
        left -= count
    return MOST


def _bindings(template: QueryTemplate, names: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    kinds = {b.name: b.kind for b in template.blanks}
    if kinds.get("service") == "service" and kinds.get("peer") == "service":
        edges = (edge.partition("->") for edge in names.get("edge", []))
        fixed = [{"service": caller, "peer": callee} for caller, arrow, callee in edges if arrow]  # a label may be anything
        rest = {name: kind for name, kind in kinds.items() if name not in ("service", "peer")}
    else:
        fixed, rest = [{}], kinds
    for start in fixed:
        for values in product(*(names.get(kind, []) for kind in rest.values())):
            yield start | dict(zip(rest, values, strict=True))
