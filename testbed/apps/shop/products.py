"""products: the catalogue, its stock, and what of it is reserved for which order."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from typing import Any

import asyncpg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import price_tag, sign
from apps.shop.seed import prepare
from apps.shop.stock import Stock
from kit.bodies import body_of, number
from kit.cache import Cache, Store, cache
from kit.database import Database
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
SHELF = 24
MOST_AT_ONCE = 100
LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Product:
    """One article. ``price`` is in cents, ``weight`` in grams."""

    id: int
    name: str
    category: str
    description: str
    price: int
    weight: int
    stock: int
    sold: int


class Catalogue:
    """Products in Postgres, single products cached for a short while (their stock is always read fresh)."""

    def __init__(self, database: Database, pages: Cache, shelves: Cache) -> None:
        self.database, self.pages, self.shelves = database, pages, shelves

    async def open(self) -> None:
        """Seed the tables when they are new."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def featured(self) -> list[Product]:
        """What the home page shows: the best sellers that are in stock."""

        async def load() -> list[dict[str, Any]]:
            async with self.database.connection() as connection:
                rows = await connection.fetch("SELECT * FROM products WHERE stock > 0 ORDER BY sold DESC, id LIMIT $1", SHELF)
            return [asdict(_product(r)) for r in rows]

        return [Product(**p) for p in await self.shelves.get_or("featured", load)]

    async def product(self, product_id: int) -> Product:
        """One product; 404 when there is none."""
        if product_id > LARGEST:
            raise HTTPException(404, f"there is no product {product_id}")
        kept = await self.pages.get_or(str(product_id), lambda: self._read(product_id))
        async with self.database.connection() as connection:
            today = await connection.fetchrow("SELECT stock, sold FROM products WHERE id = $1", product_id)
        return Product(**kept | dict(today or {}))

    async def several(self, numbers: list[int]) -> list[Product]:
        """Those of the products that there are, in one look."""
        async with self.database.connection() as connection:
            rows = await connection.fetch("SELECT * FROM products WHERE id = ANY($1) ORDER BY id", numbers)
        return [_product(r) for r in rows]

    async def _read(self, product_id: int) -> dict[str, Any]:
        async with self.database.connection() as connection:
            row = await connection.fetchrow("SELECT * FROM products WHERE id = $1", product_id)
        if row is None:
            raise HTTPException(404, f"there is no product {product_id}")
        return asdict(_product(row))


def _product(row: asyncpg.Record) -> Product:
    return Product(**dict(row))


def shown(product: Product) -> dict[str, object]:
    """A product as a page shows it."""
    return asdict(product) | {"tag": price_tag(product.name, product.price)}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    catalogue = Catalogue(database, cache(settings, store, "product"), cache(settings, store, "shelf"))
    stock = Stock(database)

    async def home(_: Request) -> Response:
        featured = await catalogue.featured()
        return JSONResponse({"categories": sorted({p.category for p in featured}), "products": [shown(p) for p in featured]})

    async def product(request: Request) -> Response:
        page = shown(await catalogue.product(request.path_params["id"]))
        return JSONResponse(page | {"seal": sign(f"{page['id']}/{page['price']}")[:12]})

    async def several(request: Request) -> Response:
        numbers = [n for n in request.query_params.get("ids", "").split(",") if n.isdecimal() and len(n) < 10][:MOST_AT_ONCE]
        found = await catalogue.several([int(n) for n in numbers])
        return JSONResponse({"products": [asdict(p) for p in found]})

    async def reserve(request: Request) -> Response:
        body = await body_of(request)
        lines = [(number(x, "product"), number(x, "quantity")) for x in body["lines"]]
        prices = await stock.reserve(number(body, "order"), lines)
        return JSONResponse({"prices": {str(k): v for k, v in prices.items()}})

    async def release(request: Request) -> Response:
        await stock.release(number(await body_of(request), "order"))
        return JSONResponse({})

    routes = [
        Route("/featured", home),
        Route("/products", several),
        Route("/products/{id:int}", product),
        Route("/reservations", reserve, methods=["POST"]),
        Route("/releases", release, methods=["POST"]),
    ]
    return routes, [database, store, catalogue]


if __name__ == "__main__":
    run(make)
