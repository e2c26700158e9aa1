"""The sources of one system: which backends it has, and which of them a query goes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from revelio.catalog import Catalog, Product, ToolSpec, bundled_catalog
from revelio.settings import Backend, SystemSettings
from revelio.support.suggestion import suggestion
from revelio.tools.base import Limits, Tool
from revelio.tools.registry import make_tool
from revelio.tools.unusable import UnusableTool
from revelio.types import Entity, Query


@dataclass(frozen=True, slots=True)
class Source:
    """One backend by its name in the settings: what it is, and the tool that asks it."""

    name: str
    product: Product
    tool: Tool

    @property
    def title(self) -> str:
        """What people call it: its product, with its name where that is another one."""
        return self.product.title if self.name == self.product.name else f"{self.product.title} ({self.name})"

    def query(self, query: Query) -> Query:
        """The query in this source's language."""
        return replace(query, template=self.product.worded(query.template, self.name))


class Sources:
    """The sources of one system, by name."""

    def __init__(self, settings: SystemSettings, catalog: Catalog, tools: Mapping[str, Tool]) -> None:
        """``tools`` by the name of their backend."""
        self._catalog = catalog
        self.all = tuple(
            Source(name, _product(catalog, name, settings.backends.get(name)) or Product(name, name, name), tool)
            for name, tool in tools.items()
        )

    @property
    def titles(self) -> dict[str, str]:
        """What people call each, by name."""
        return {s.name: s.title for s in self.all}

    def of(self, tool: str) -> tuple[Source, ...]:
        """Those that answer questions of a tool of the catalog."""
        return tuple(s for s in self.all if s.product.tool == tool)

    def asked(self, query: Query, holds: Callable[[str, Entity], bool | None]) -> tuple[Source, ...]:
        """Those that a query goes to, empty where none can answer it.

        Of several of one kind only those that are known to hold every entity it is about; all where that is known of none.
        ``query`` may name a product or a source instead of a tool. ``holds`` says whether a source, by name, holds an entity;
        None where it is not known.
        """
        wanted = query.template.tool
        named = tuple(s for s in self.all if s.name == wanted) or tuple(s for s in self.all if s.product.name == wanted)
        spec = next((t for t in self._catalog.tools if t.name == wanted), None)
        fitting = self._answering(spec, query) if spec else named
        if len(fitting) < 2 or not query.bindings:
            return fitting
        return tuple(s for s in fitting if all(holds(s.name, e) for e in query.entities)) or fitting

    def title(self, query: Query, asked: tuple[Source, ...]) -> str:
        """What people call those that answer a query; "" where the title of its tool says it."""
        if not asked:
            return ""
        titles = {s.product.title for s in asked}
        if len(self.of(asked[0].product.tool)) > 1:
            titles = {s.title for s in asked}
        tool = next((t.title for t in self._catalog.tools if t.name == query.template.tool), query.template.tool)
        return "" if titles == {tool} else ", ".join(sorted(titles))

    def _answering(self, spec: ToolSpec, query: Query) -> tuple[Source, ...]:
        if query.template not in spec.asked([p.name for p in self._catalog.products]):  # a text of somebody's own
            return tuple(s for s in self.of(spec.name) if s.product.name == spec.name) or self.of(spec.name)[:1]
        able = {p.name for p in spec.answering(query.template)}
        return tuple(s for s in self.of(spec.name) if s.product.name in able)


def make_sources(settings: SystemSettings, catalog: Catalog, limits: Limits) -> dict[str, Tool]:
    """A tool for every backend of the settings that the catalog asks, in the order of the catalog. Connects to nothing yet.

    A backend whose name or product no source has comes last: whatever is asked of it says so.
    """
    made: dict[str, Tool] = {}
    order = [t.name for t in catalog.tools]
    products = {name: p for name, backend in settings.backends.items() if (p := _product(catalog, name, backend))}
    for name, product in sorted(products.items(), key=lambda pair: order.index(pair[1].tool)):
        spec = next(t for t in catalog.tools if t.name == product.tool)
        tool = make_tool(spec, settings.backends[name], limits, product.name, name)
        if tool is not None:
            made[name] = tool
    for name, backend in settings.backends.items():
        if name not in products and _product(bundled_catalog(), name, backend) is None:
            made[name] = UnusableTool(name, _unknown(catalog, name, backend.product))
    return made


def unconnected(catalog: Catalog, name: str, backend: Backend | None = None) -> Tool | None:
    """The tool of that name, to render queries and links; None where the catalog has none. Nothing can be run."""
    spec = next((t for t in catalog.tools if t.name == name), None)
    return None if spec is None else make_tool(spec, backend or Backend(url=""), Limits())


def _unknown(catalog: Catalog, name: str, product: str) -> str:
    there = list(dict.fromkeys(p.name for p in (*catalog.products, *bundled_catalog().products)))
    setting = f"its product {product!r}" if product else f"its name {name!r}"
    return f"{setting} is that of no source; {suggestion(product or name, there)}"


def _product(catalog: Catalog, name: str, backend: Backend | None) -> Product | None:
    return catalog.product(backend.product if backend and backend.product else name)
