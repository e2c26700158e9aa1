"""Products that answer a tool's questions in its stead, as Loki answers questions about logs: data, one YAML document a product.

A question is the same whoever answers it: its id, its title and what it reads stay, and only its body may be in a language of
the product's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from revelio.types import QueryTemplate


@dataclass(frozen=True, slots=True)
class Product:
    """A kind of backend. ``bodies`` are the tool's templates that it answers, by id; None where it answers all as they are.

    ``templates`` are questions of its own.
    """

    name: str
    tool: str
    title: str
    bodies: Mapping[str, str] | None = field(default=None, hash=False)
    templates: tuple[QueryTemplate, ...] = ()

    def worded(self, template: QueryTemplate, source: str) -> QueryTemplate:
        """The template in this product's language, asked of that source."""
        return replace(template, tool=source, body=(self.bodies or {}).get(template.id, template.body))


def product_of(name: str, products: Iterable[Product]) -> Product | None:
    """The product that the name of a backend speaks of: ``loki`` and ``loki-payments`` are both Loki. None for none."""
    known = {p.name: p for p in products}
    parts = name.split("-")
    return next((known[start] for n in range(len(parts), 0, -1) if (start := "-".join(parts[:n])) in known), None)
