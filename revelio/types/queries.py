"""What can be asked: templates with blanks, and queries that bind them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from revelio.types.evidence import Entity, Source

Direction = Literal["up", "down", "both"]


@dataclass(frozen=True, slots=True)
class Blank:
    """A typed placeholder of a template: it takes the name of an existing entity of that kind."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Which part of the snapshot comes closest to what running a template returns.

    ``source`` is ``series``, ``logs``, ``spans``, ``changes`` or ``features``; ``metric`` names the series, span figure,
    log level, changed field or feature; ``direction`` is the bad one.
    """

    source: Source
    metric: str
    direction: Direction = "up"


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose question a template is: ``credit`` in words, ``url`` back to it, "" where there is none."""

    credit: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """A query of one tool with ``${name}`` placeholders in ``body``, whose syntax is that of the tool.

    One that was imported from a team's own rules, dashboards or runbooks has an ``origin``.
    """

    id: str
    tool: str
    title: str
    shows: str
    body: str
    blanks: tuple[Blank, ...] = ()
    reads: tuple[Reading, ...] = ()
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A template with its blanks bound: a candidate is just a query. Bindings are sorted (blank, entity name) pairs."""

    template: QueryTemplate
    bindings: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """Stable across processes: the template's id and 8 hex digits of its bindings."""
        digest = hashlib.sha256(json.dumps(self.bindings, ensure_ascii=False).encode()).hexdigest()[:8]
        return f"{self.template.id}-{digest}"

    @property
    def title(self) -> str:
        """The template's title with its blanks filled."""
        return fill(self.template.title, self.bindings)

    @property
    def body(self) -> str:
        """The template's body with its blanks filled, for people to read."""
        return fill(self.template.body, self.bindings).strip()

    @property
    def entities(self) -> tuple[Entity, ...]:
        """The entities that the query is bound to, in the order of the template's blanks."""
        bound = dict(self.bindings)
        return tuple(Entity(b.kind, bound[b.name]) for b in self.template.blanks if b.name in bound)


def fill(text: str, bindings: tuple[tuple[str, str], ...]) -> str:
    """Put each binding's value where ``${blank}`` stands. For people to read, never for a backend: nothing is escaped."""
    for name, value in bindings:
        text = text.replace("${" + name + "}", value)
    return text
