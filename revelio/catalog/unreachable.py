"""A store that does not answer is itself evidence: an entity, a change, and the question whether it answers."""

from __future__ import annotations

from collections.abc import Mapping

from revelio.catalog import Catalog
from revelio.types import Entity, Query, QueryTemplate, StateChange

FIELD = "answers"
"""The field of the change, which the template of the question reads."""


def kind_of(tool: str) -> str:
    """The kind of entity that stands for a tool that does not answer. Nothing else has it, so nothing else asks about it."""
    return f"{tool}_unreachable"


def asks_presence(template: QueryTemplate) -> bool:
    """Whether it asks only if its data source answers: then it can be asked of one that does not."""
    return any(blank.kind == kind_of(template.tool) for blank in template.blanks)


def unreachable(catalog: Catalog, missing: Mapping[str, str], at: float) -> tuple[tuple[Entity, ...], tuple[StateChange, ...]]:
    """The entities and changes of the sources that did not answer, by name with their tools.

    Only of those that are part of the system and do not merely watch it: they have a template that asks for their presence.
    """
    parts = {t.tool for t in catalog.templates if asks_presence(t)}
    silent = tuple(Entity(kind_of(tool), name) for name, tool in sorted(missing.items()) if tool in parts)
    return silent, tuple(StateChange(entity, at, FIELD, "", "no answer") for entity in silent)


def presence(query: Query) -> bool:
    """Whether a query asks only if its data source answers."""
    return asks_presence(query.template)
