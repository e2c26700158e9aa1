"""search: finds products by words, with the help of a full-text index."""

from __future__ import annotations

import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import price_tag, sign
from apps.shop.seed import prepare
from apps.shop.tables import SEARCHED
from kit.cache import Cache, Store, cache
from kit.database import Database
from kit.paging import Page, page
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
LONGEST = 100
_HITS = f"""
WITH hits AS MATERIALIZED (
  SELECT id, name, category, description, price FROM products WHERE {SEARCHED} @@ websearch_to_tsquery('english', $1))
SELECT *, (SELECT count(*) FROM hits) AS found FROM hits WHERE id > $2 ORDER BY id LIMIT $3
"""


class Finder:
    """Products in Postgres; what was found is kept for a short while."""

    def __init__(self, database: Database, results: Cache) -> None:
        self.database, self.results = database, results

    async def open(self) -> None:
        """Make the tables when they are not there."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def search(self, words: str, where: Page) -> dict[str, Any]:
        """Products that have all of the words, by number from ``where.after`` on, and how many there are in all."""
        words = " ".join(words.lower().replace("\0", " ").split())[:LONGEST]
        if not words:
            return {"products": [], "found": 0, "next": None}
        found: dict[str, Any] = await self.results.get_or(
            f"{words}/{where.after or 0}/{where.size}", lambda: self._look(words, where)
        )
        return found

    async def _look(self, words: str, where: Page) -> dict[str, Any]:
        after = min(where.after or 0, 2**31 - 1)
        async with self.database.connection() as connection:
            rows = await connection.fetch(_HITS, words, after, where.size)
        log.info("found %d products", rows[0]["found"] if rows else 0)
        return {
            "products": [{k: r[k] for k in ("id", "name", "category", "description", "price")} for r in rows],
            "found": rows[0]["found"] if rows else 0,
            "next": rows[-1]["id"] if len(rows) == where.size else None,
        }


def marked(hit: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """A hit as a page shows it: tagged with its prices, and the words of the query that it has in its name."""
    named = [word for word in words if word in hit["name"].lower()]
    return hit | {"tag": price_tag(hit["name"], hit["price"]), "matched": named}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    finder = Finder(database, cache(settings, store, "search", seconds=15))

    async def search(request: Request) -> Response:
        query = request.query_params.get("q", "")
        found = await finder.search(query, page(request, default=24))
        products = [marked(hit, query.lower().split()) for hit in found["products"]]
        return JSONResponse(found | {"products": products, "seal": sign(f"{query}/{found['found']}")[:12]})

    return [Route("/search", search)], [database, store, finder]


if __name__ == "__main__":
    run(make)
