"""recommendations: what others bought together with a product."""

from __future__ import annotations

import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import price_tag, sign
from apps.shop.seed import prepare
from kit.cache import Cache, Store, cache
from kit.database import Database
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
STRIP = 6
LARGEST = 2**31 - 1
_TOGETHER = """
SELECT p.id, p.name, p.price, count(*) AS together
FROM order_lines mine JOIN order_lines other ON other.order_id = mine.order_id AND other.product <> mine.product
JOIN products p ON p.id = other.product AND p.stock > 0
WHERE mine.product = $1 GROUP BY p.id ORDER BY together DESC, p.id LIMIT $2
"""


class Strips:
    """Strips of products by the orders in Postgres, kept for a minute."""

    def __init__(self, database: Database, strips: Cache) -> None:
        self.database, self.strips = database, strips

    async def open(self) -> None:
        """Make the tables when they are not there."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def beside(self, product: int) -> list[dict[str, Any]]:
        """The products most often in an order with this one; none for one that nobody bought yet."""
        if product > LARGEST:
            return []
        found: list[dict[str, Any]] = await self.strips.get_or(str(product), lambda: self._count(product))
        return found

    async def _count(self, product: int) -> list[dict[str, Any]]:
        async with self.database.connection() as connection:
            rows = await connection.fetch(_TOGETHER, product, STRIP)
        log.info("%d products go with product %d", len(rows), product)
        return [dict(r) for r in rows]


def tagged(product: dict[str, Any]) -> dict[str, Any]:
    """A product as the strip shows it."""
    return product | {"tag": price_tag(product["name"], product["price"])}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    strips = Strips(database, cache(settings, store, "strip", seconds=60))

    async def strip(request: Request) -> Response:
        product = request.path_params["product"]
        products = [tagged(p) for p in await strips.beside(product)]
        return JSONResponse({"product": product, "products": products, "seal": sign(f"{product}/{len(products)}")[:12]})

    return [Route("/strips/{product:int}", strip)], [database, store, strips]


if __name__ == "__main__":
    run(make)
