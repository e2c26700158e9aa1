"""products: the catalogue, its search and its stock."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass

import asyncpg
from redis import RedisError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import price_tag, relevance
from apps.shop.seed import prepare
from kit.cache import Store
from kit.database import Database
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
CACHE_SECONDS = 20
SHELF = 24
LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Product:
    """One article. ``price`` is in cents."""

    id: int
    name: str
    category: str
    description: str
    price: int
    stock: int


class Catalogue:
    """Products in Postgres, single products cached in Redis for a short while (their stock is always read fresh)."""

    def __init__(self, database: Database, cache: Store) -> None:
        self.database, self.cache = database, cache

    async def open(self) -> None:
        """Seed the tables when they are new."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def featured(self) -> list[Product]:
        """What the home page shows: the best sellers that are in stock."""
        async with self.database.connection() as connection:
            rows = await connection.fetch("SELECT * FROM products WHERE stock > 0 ORDER BY sold DESC, id LIMIT $1", SHELF)
        return [_product(r) for r in rows]

    async def product(self, product_id: int) -> Product:
        """One product; 404 when there is none."""
        if product_id > LARGEST:
            raise HTTPException(404, f"there is no product {product_id}")
        cached = await self._cached(product_id)
        if cached:
            async with self.database.connection() as connection:
                stock = await connection.fetchval("SELECT stock FROM products WHERE id = $1", product_id)
            return Product(**json.loads(cached) | {"stock": stock})
        async with self.database.connection() as connection:
            row = await connection.fetchrow("SELECT * FROM products WHERE id = $1", product_id)
        if row is None:
            raise HTTPException(404, f"there is no product {product_id}")
        product = _product(row)
        if cached is not None:
            await self.cache.client.set(f"product:{product_id}", json.dumps(asdict(product)), ex=CACHE_SECONDS)
        return product

    async def _cached(self, product_id: int) -> str | None:
        """What the cache holds, "" for nothing; None when it does not answer, and the database must do."""
        try:
            return str(await self.cache.client.get(f"product:{product_id}") or "")
        except RedisError:
            log.warning("the cache does not answer; reading product %d from the database", product_id, exc_info=True)
            return None

    async def search(self, words: str) -> list[Product]:
        """Products whose name or category has any of the words, the most relevant first."""
        terms = [w for w in words.lower().replace("\0", " ").split() if w][:6]
        if not terms:
            return []
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "SELECT * FROM products WHERE lower(name) LIKE ANY($1) OR category = ANY($2) ORDER BY id LIMIT 200",
                [f"%{t}%" for t in terms],
                terms,
            )
        found = [_product(r) for r in rows]
        return sorted(found, key=lambda p: (-relevance(p.name, p.description, terms), p.id))[:SHELF]

    async def reserve(self, lines: list[tuple[int, int]]) -> dict[int, int]:
        """Take stock for all lines or for none; gives each product's price. 409 names what is sold out."""
        prices: dict[int, int] = {}
        async with self.database.connection() as connection, connection.transaction():
            for product_id, quantity in sorted(lines):
                row = await connection.fetchrow(
                    "UPDATE products SET stock = stock - $2, sold = sold + $2 WHERE id = $1 AND stock >= $2 RETURNING price",
                    product_id,
                    quantity,
                )
                if row is None:
                    log.info("product %d is sold out", product_id)
                    raise HTTPException(409, f"product {product_id} is sold out")
                prices[product_id] = row["price"]
        return prices

    async def release(self, lines: list[tuple[int, int]]) -> None:
        """Give stock back after an order that came to nothing."""
        async with self.database.connection() as connection:
            await connection.executemany("UPDATE products SET stock = stock + $2, sold = sold - $2 WHERE id = $1", sorted(lines))


def _product(row: asyncpg.Record) -> Product:
    return Product(row["id"], row["name"], row["category"], row["description"], row["price"], row["stock"])


def shown(product: Product) -> dict[str, object]:
    """A product as a page shows it."""
    return asdict(product) | {"tag": price_tag(product.name, product.price)}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, cache = Database(settings), Store(settings.redis)
    catalogue = Catalogue(database, cache)

    async def home(_: Request) -> Response:
        featured = await catalogue.featured()
        return JSONResponse({"categories": sorted({p.category for p in featured}), "products": [shown(p) for p in featured]})

    async def product(request: Request) -> Response:
        return JSONResponse(shown(await catalogue.product(request.path_params["id"])))

    async def search(request: Request) -> Response:
        found = await catalogue.search(request.query_params.get("q", ""))
        return JSONResponse({"products": [shown(p) for p in found]})

    async def reserve(request: Request) -> Response:
        prices = await catalogue.reserve([(x["product"], x["quantity"]) for x in await request.json()])
        return JSONResponse({"prices": {str(k): v for k, v in prices.items()}})

    async def release(request: Request) -> Response:
        await catalogue.release([(x["product"], x["quantity"]) for x in await request.json()])
        return JSONResponse({})

    routes = [
        Route("/featured", home),
        Route("/products/{id:int}", product),
        Route("/search", search),
        Route("/reservations", reserve, methods=["POST"]),
        Route("/releases", release, methods=["POST"]),
    ]
    return routes, [database, cache, catalogue]


if __name__ == "__main__":
    run(make)
