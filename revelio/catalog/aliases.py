"""One component under one name: what sources call it is joined by what the runtime and labels say, and taken apart to ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from revelio.catalog.conventions.rendering import SEPARATOR
from revelio.catalog.identity import Naming
from revelio.types import Alias, Entity, Evidence, Query, Result, fill

_ARROW = "->"


@dataclass(frozen=True, slots=True)
class Joined:
    """The parts of a snapshot by their source, with each component under one name; ``aliases`` are the names it has elsewhere."""

    parts: Mapping[str, Evidence]
    aliases: tuple[Alias, ...]


def join_names(parts: Mapping[str, Evidence], project: str, known: Iterable[Alias] = ()) -> Joined:
    """Give each component the name by which the runtime knows it.

    ``known`` are aliases that sources told before which are silent now. A name that could mean two components stays, and so
    does one whose source has an entity of that kind with the common name already.
    """
    told = {(a.entity.name, a.name) for a in (*known, *(a for part in parts.values() for a in part.aliases))}
    meant = _meant(told, {name for part in parts.values() for e in part.entities for name in _names(e)}, project)
    renamed = {source: _renamed(part, meant) for source, part in parts.items()}
    own = {
        Alias(new, old.name, source)
        for source, part in parts.items()
        for old in part.entities
        if (new := _called(old, _mapping(part, meant))) != old
    }
    listed = {Alias(Entity("component", name), other) for name, other in told if meant.get(other) == name}
    return Joined(renamed, tuple(sorted(own | listed)))


def others(evidence: Evidence, name: str) -> tuple[str, ...]:
    """The other names of a component, as sources call it."""
    found = {a.name for a in evidence.aliases if a.entity.name == name}
    return tuple(sorted(found - {name}))


def also_called(query: Query, evidence: Evidence) -> str:
    """A sentence on the other names of what a query is about; "" where it has none."""
    told = [f"{name} is also called {', '.join(found)}" for _, name in query.bindings if (found := others(evidence, name))]
    return "; ".join(dict.fromkeys(told))


def shows_text(query: Query, evidence: Evidence) -> str:
    """What a query shows, in words, with the other names of what it is about."""
    called = also_called(query, evidence)
    return " ".join(part for part in (fill(query.template.shows, query.bindings), f"{called}." if called else "") if part)


def local(query: Query, aliases: Iterable[Alias], source: str) -> Query:
    """The query with the names by which a source calls its entities."""
    own = {a.entity: a.name for a in aliases if a.source == source}
    if not own:
        return query
    kinds = {b.name: b.kind for b in query.template.blanks}
    bound = dict(query.bindings)
    called = {name: _own(Entity(kinds.get(name, ""), value), own) for name, value in bound.items()}
    if {"service", "peer"} <= bound.keys():
        edge = own.get(Entity("edge", f"{bound['service']}{_ARROW}{bound['peer']}"))
        if edge is not None:
            called["service"], _, called["peer"] = edge.partition(_ARROW)
    return replace(query, bindings=tuple((name, called[name]) for name, _ in query.bindings))


def common(result: Result, aliases: Iterable[Alias], source: str) -> Result:
    """What a source returned, its series under the common names."""
    shown = {Entity(a.entity.kind, a.name): a.entity for a in aliases if a.source == source}
    if not shown:
        return result
    return replace(result, series=tuple(replace(s, entity=shown.get(s.entity, s.entity)) for s in result.series))


def _meant(told: Iterable[tuple[str, str]], there: Iterable[str], project: str) -> dict[str, str]:
    """The component that each other name means, where it can mean one alone."""
    told = set(told)
    components = {name for name, _ in told}
    found: dict[str, set[str]] = {}
    for name, other in told:
        found.setdefault(other, set()).add(name)
    prefixed, names = Naming("", "container", project), set(there)
    for name in names:
        short = prefixed.component(name)
        if project and name.startswith((f"{project}-", f"{project}_")) and name not in components and short in components | names:
            found.setdefault(name, set()).add(short)
    return {other: next(iter(names)) for other, names in found.items() if len(names) == 1 and other not in components}


def _names(entity: Entity) -> Iterator[str]:
    """The components that an entity's name speaks of."""
    if entity.kind == "edge":
        yield from entity.name.split(_ARROW)
    else:
        yield entity.name.partition(SEPARATOR)[0] if entity.kind in _PARTS else entity.name


_PARTS = ("operation", "open_series")
"""Kinds whose entities are named after their component and something of it."""


def _mapping(part: Evidence, meant: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """By kind and name, what entities of a source are called: where both names are there already, they stay apart.

    Not so the ends of edges: one end is named by itself, and the other by its address.
    """
    there = {(e.kind, name) for e in part.entities for name in _names(e)}
    return {
        (kind, name): meant[name]
        for kind, name in there
        if name in meant and (kind == "edge" or (kind, meant[name]) not in there)
    }


def _called(entity: Entity, mapping: Mapping[tuple[str, str], str]) -> Entity:
    if entity.kind == "edge":
        return Entity("edge", _ARROW.join(mapping.get(("edge", name), name) for name in entity.name.split(_ARROW)))
    if entity.kind in _PARTS:
        name, separator, rest = entity.name.partition(SEPARATOR)
        return Entity(entity.kind, f"{mapping.get((entity.kind, name), name)}{separator}{rest}")
    return Entity(entity.kind, mapping.get((entity.kind, entity.name), entity.name))


def _renamed(part: Evidence, meant: Mapping[str, str]) -> Evidence:
    mapping = _mapping(part, meant)
    if not mapping:
        return part

    def called(entity: Entity) -> Entity:
        return _called(entity, mapping)

    return replace(
        part,
        entities=tuple(sorted({called(e) for e in part.entities})),
        series=tuple(replace(s, entity=called(s.entity)) for s in part.series),
        logs=tuple(replace(x, entity=called(x.entity)) for x in part.logs),
        spans=tuple(replace(s, entity=called(s.entity), service=called(Entity("service", s.service)).name) for s in part.spans),
        changes=tuple(replace(c, entity=called(c.entity)) for c in part.changes),
        features=tuple(replace(f, entity=called(f.entity)) for f in part.features),
    )


def _own(entity: Entity, own: Mapping[Entity, str]) -> str:
    return own.get(entity, entity.name)
