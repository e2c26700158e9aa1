"""The fields of one store's log documents, found out from its mappings: ECS, OpenTelemetry, Kubernetes, or a logger's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from revelio.tools.log_fields import Schema, schema_of
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
_EXACT = frozenset({"term", "terms", "prefix", "wildcard"})


@dataclass(frozen=True, slots=True)
class Fields:
    """The schema of the documents, and those of its fields that are text with a keyword beside it."""

    schema: Schema = ECS
    keyword: frozenset[str] = frozenset()
    lacking: frozenset[str] = frozenset()
    """Fields of ECS for which this store has none: what they would hold is inside of the message."""

    def exact(self, name: str) -> str:
        """The field to compare whole values of, and to group by."""
        return f"{name}.keyword" if name in self.keyword else name

    def translated(self, query: Tree, within: str = "") -> Tree:
        """A search in the catalog's words, which are those of ECS, in the words of this store.

        A value of a field that the documents lack is searched for in their message.
        """
        if self == Fields():
            return query
        if isinstance(query, dict) and (said := self._in_message(query)) is not None:
            return said
        if isinstance(query, list):
            return [self.translated(part, within) for part in query]
        if not isinstance(query, dict):
            return query
        if within == "exists":
            return {"field": self._named(str(query.get("field")), within)}
        names = {key: self._named(key, within) for key in query}
        return {names[key]: self.translated(value, key) for key, value in query.items()}

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


def find_fields(answer: object) -> Fields | None:
    """The fields that an answer to `_field_caps` tells of; None where it tells of no logs."""
    caps = answer.get("fields") if isinstance(answer, Mapping) else None
    if not isinstance(caps, Mapping):
        return None
    kinds = {str(name): frozenset(of) for name, of in caps.items() if isinstance(of, Mapping)}
    schema = schema_of(name for name, of in kinds.items() if "object" not in of)
    if not schema.time or not schema.message:
        return None
    told = replace(schema, **{f.name: getattr(ECS, f.name) for f in fields(ECS) if not getattr(schema, f.name)})
    text = frozenset(name for name, of in kinds.items() if "text" in of and f"{name}.keyword" in kinds)
    lacking = frozenset(getattr(ECS, f.name) for f in fields(ECS) if f.name != "service" and not getattr(schema, f.name))
    return Fields(told, text & {told.service, told.level, told.trace, told.error}, lacking)
