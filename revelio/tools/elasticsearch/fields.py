"""The fields of one store's log documents, found out from its mappings: ECS, OpenTelemetry, Kubernetes, or a logger's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from revelio.tools.elasticsearch.levels import levels_in, said_at
from revelio.tools.log_fields import ERROR, LEVEL, PROJECT, SERVICE, TRACE, Schema, canonical, schema_of
from revelio.tools.placeholders import Tree

ECS = Schema(
    service="service.name",
    level="log.level",
    message="message",
    trace="trace.id",
    error="error.type",
    file="log.origin.file.name",
    line="log.origin.file.line",
    time="@timestamp",
)
_NUMBERS = frozenset({"long", "integer", "short", "byte", "unsigned_long", "double", "float"})
_MOSTLY = 0.5
"""A field names components if so many documents have it, as a share of those that have the most usual one."""

_EXACT = frozenset({"term", "terms", "prefix", "wildcard"})


@dataclass(frozen=True, slots=True)
class Fields:
    """The schema of the documents, and those of its fields that are text with a keyword beside it."""

    schema: Schema = ECS
    keyword: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()
    """Fields of ECS for which this store has none: what they would hold is inside of the message."""
    spoken_levels: bool = False
    """Whether documents say their level in the message: not each of them has a field of it."""
    numeric_level: bool = False
    project: str = ""
    """The field that tells this system's documents from those of others, "" where there is none."""

    def exact(self, name: str) -> str:
        """The field to compare whole values of, and to group by."""
        return f"{name}.keyword" if name in self.keyword else name

    def translated(self, query: Tree, within: str = "") -> Tree:
        """A search in the catalog's words, which are those of ECS, in the words of this store.

        A value of a field that the documents lack is searched for in their message.
        """
        if self == Fields():
            return query
        if isinstance(query, dict) and (said := self._of_levels(query) or self._in_message(query)) is not None:
            return said
        if isinstance(query, list):
            return [self.translated(part, within) for part in query]
        if not isinstance(query, dict):
            return query
        if within == "exists":
            return {"field": self._named(str(query.get("field")), within)}
        names = {key: self._named(key, within) for key in query}
        return {names[key]: self.translated(value, key) for key, value in query.items()}

    def of_level(self, level: str) -> Tree:
        """The documents of a level, ERROR or WARNING: by the field of it, and those without one by their message."""
        named: Tree = {"terms": {self.exact(self.schema.level): levels_in(level, numbers=self.numeric_level)}}
        if not self.spoken_levels:
            return named
        said = said_at(level, self.schema.message)
        if "log.level" in self.lacking:
            return said
        without: Tree = {"bool": {"filter": [said], "must_not": [{"exists": {"field": self.schema.level}}]}}
        return {"bool": {"should": [named, without], "minimum_should_match": 1}}

    def _of_levels(self, query: dict[str, Tree]) -> Tree:
        """The clause for one about the level, where not a field alone says it; None for any other."""
        if not (self.spoken_levels or self.numeric_level):
            return None
        for name in ("term", "terms"):
            inner = query.get(name)
            if isinstance(inner, dict) and inner.keys() == {"log.level"}:
                value = inner["log.level"]
                told = dict.fromkeys(canonical(str(v)) for v in (value if isinstance(value, list) else [value]))
                known: list[Tree] = [self.of_level(level) for level in told if level in ("ERROR", "WARNING")]
                return {"bool": {"should": known, "minimum_should_match": 1}} if known else None
        return None

    def _in_message(self, query: dict[str, Tree]) -> Tree:
        """The clause about the message that stands for one about a field that is not there; None for any other."""
        for name in ("term", "terms", "match"):
            inner = query.get(name)
            field, value = next(iter(inner.items())) if isinstance(inner, dict) and len(inner) == 1 else ("", None)
            if field in self.lacking:
                words = dict.fromkeys(str(v).lower() for v in (value if isinstance(value, list) else [value]))
                return {"match": {self.schema.message: " ".join(words)}}
        return None

    def _named(self, name: str, within: str) -> str:
        known = next((getattr(self.schema, f.name) for f in fields(ECS) if getattr(ECS, f.name) == name), "")
        return (self.exact(known) if within in _EXACT else known) or name


@dataclass(frozen=True, slots=True)
class Mapped:
    """The fields that a store has mappings of, with their types. Documents need not fill them: agents map all of ECS."""

    types: Mapping[str, frozenset[str]]

    @property
    def candidates(self) -> tuple[str, ...]:
        """Those of which it matters whether documents fill them."""
        return tuple(name for name in dict.fromkeys((*SERVICE, *LEVEL, *ERROR, *TRACE, *PROJECT)) if name in self.types)

    def fields(self, filled: Mapping[str, int] | None, total: int = 0, project: str = "") -> Fields | None:
        """The fields to ask by: those that documents fill, by how many of ``total`` do; all where that is not known.

        None where there are no logs. ``project`` is the field that some documents have the project's name in.
        """
        there = {name for name, of in self.types.items() if "object" not in of}
        if filled is not None and total:
            there -= {name for name in self.candidates if not filled.get(name)}
            most = max((filled.get(name, 0) for name in SERVICE), default=0)
            there -= {name for name in SERVICE if filled.get(name, 0) < _MOSTLY * most}
        schema = schema_of(there)
        if not schema.time or not schema.message:
            return None
        told = replace(schema, **{f.name: getattr(ECS, f.name) for f in fields(ECS) if not getattr(schema, f.name)})
        text = frozenset(name for name, of in self.types.items() if "text" in of and f"{name}.keyword" in self.types)
        lacking = frozenset(getattr(ECS, f.name) for f in fields(ECS) if f.name != "service" and not getattr(schema, f.name))
        partly = filled is not None and bool(schema.level) and filled.get(schema.level, 0) < total
        return Fields(
            told,
            text & {told.service, told.level, told.trace, told.error, project},
            lacking,
            spoken_levels=partly or not schema.level,
            numeric_level=bool(self.types.get(schema.level, frozenset()) & _NUMBERS),
            project=project,
        )


def mapped(answer: object) -> Mapped | None:
    """The fields that an answer to `_field_caps` tells of; None where it tells of none."""
    caps = answer.get("fields") if isinstance(answer, Mapping) else None
    if not isinstance(caps, Mapping):
        return None
    return Mapped({str(name): frozenset(of) for name, of in caps.items() if isinstance(of, Mapping)})
