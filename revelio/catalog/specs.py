"""What can be asked: tools with their templates, and the products that answer them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace

from revelio.catalog.products import Product, product_of
from revelio.errors import CatalogError
from revelio.types import NO_ROLE, ColumnRole, Direction, QueryTemplate, ResultKind


@dataclass(frozen=True, slots=True)
class Metric:
    """A series that a snapshot reads for every entity of one kind. A count that is not there may be zero.

    ``query`` reads it with one request, and ``label`` names the entity there; a signal has neither, a convention reads it.
    """

    name: str
    query: str
    entity: str
    label: str
    unit: str
    noise_floor: float
    direction: Direction
    absent_is_zero: bool = False


@dataclass(frozen=True, slots=True)
class ResultForm:
    """What the rows of a template are: the kind of the result, and the role of each column by its position."""

    kind: ResultKind = "table"
    roles: tuple[ColumnRole, ...] = ()

    def roles_of(self, columns: tuple[str, ...]) -> tuple[ColumnRole, ...]:
        """One role for each column; none has one where their number differs."""
        return self.roles if len(self.roles) == len(columns) else (NO_ROLE,) * len(columns)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as its YAML file declares it. ``metrics`` is what a snapshot reads, where the tool has series.

    ``forms`` holds the form of results by template id, where that is more than a table.
    """

    name: str
    title: str
    about: str
    templates: tuple[QueryTemplate, ...]
    metrics: tuple[Metric, ...] = ()
    forms: Mapping[str, ResultForm] = field(default_factory=dict, hash=False)
    products: tuple[Product, ...] = field(default=(), repr=False)

    def asked(self, sources: Iterable[str] | None) -> tuple[QueryTemplate, ...]:
        """The templates that can be asked of these products; of None, which stands for what the tool is named after."""
        if sources is None:
            return self.templates
        there = frozenset(sources)
        every = (*self.templates, *(t for p in self.products for t in p.templates))
        return tuple(t for t in every if any(p.name in there for p in self.answering(t)))

    def answering(self, template: QueryTemplate) -> tuple[Product, ...]:
        """The products that a template of this tool can be asked of."""
        own = tuple(p for p in self.products if any(t.id == template.id for t in p.templates))
        named = Product(self.name, self.name, self.title)
        return own or (named, *(p for p in self.products if p.bodies is None or template.id in p.bodies))

    def form_of(self, template: QueryTemplate) -> ResultForm:
        """The form of a template's results."""
        return self.forms.get(template.id, ResultForm())

    @property
    def shown(self) -> tuple[Metric, ...]:
        """The metrics that some template reads."""
        read = {r.metric for t in self.templates for r in t.reads}
        return tuple(m for m in self.metrics if m.name in read)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All tools, in the order of their files."""

    tools: tuple[ToolSpec, ...]

    @property
    def templates(self) -> tuple[QueryTemplate, ...]:
        """Every template of every tool, without those that only another product answers."""
        return tuple(t for tool in self.tools for t in tool.templates)

    @property
    def products(self) -> tuple[Product, ...]:
        """Every product, those first that tools are named after."""
        named = tuple(Product(t.name, t.name, t.title) for t in self.tools)
        return named + tuple(p for t in self.tools for p in t.products)

    def product(self, name: str) -> Product | None:
        """The product that the name of a backend speaks of; None where no tool asks such a one."""
        return product_of(name, self.products)

    def titles(self, sources: Iterable[str] | None) -> dict[str, str]:
        """What people call each tool, by name: the products that answer for it, where these sources are known."""
        there = [p for p in self.products if p.name in frozenset(sources or ())]
        return {t.name: " and ".join(p.title for p in there if p.tool == t.name) or t.title for t in self.tools}

    def template(self, template_id: str) -> QueryTemplate:
        """The template with that id; ``CatalogError`` when there is none."""
        for template in (*self.templates, *(t for p in self.products for t in p.templates)):
            if template.id == template_id:
                return template
        raise CatalogError(f"no template {template_id!r}; `revelio catalog list` shows those there are")

    @property
    def digest(self) -> str:
        """12 hex digits that change when any template changes."""
        told = [{k: v for k, v in asdict(t).items() if k != "origin"} for t in self.templates]
        return hashlib.sha256(repr(told).encode()).hexdigest()[:12]

    def extended(self, more: Catalog) -> Catalog:
        """With the templates of another catalog for tools that this one has."""
        added = {t.name: t.templates for t in more.tools}
        return Catalog(tuple(replace(t, templates=(*t.templates, *added.get(t.name, ()))) for t in self.tools))
