"""Catalog x inventory -> every query that could be asked here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from revelio.catalog import Catalog
from revelio.types import Entity, Query, QueryTemplate


def candidates(catalog: Catalog, entities: Iterable[Entity]) -> tuple[Query, ...]:
    """Bind each template's blanks to the entities that exist, in a stable order.

    A template with a ``service`` and a ``peer`` blank is bound to the edges that exist (``caller->callee``), not to all
    pairs. A template one of whose blanks has no entity yields nothing.
    """
    names: dict[str, list[str]] = {}
    for entity in sorted(set(entities)):
        names.setdefault(entity.kind, []).append(entity.name)
    return tuple(
        Query(template, tuple(sorted(binding.items())))
        for template in catalog.templates
        for binding in _bindings(template, names)
    )


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
