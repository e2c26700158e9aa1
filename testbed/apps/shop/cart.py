"""cart: what each browser's session means to buy, in Redis, priced by products. It stays with the browser when one signs in."""

from __future__ import annotations

import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import price_tag, sign, total
from kit.bodies import body_of, number
from kit.cache import Store
from kit.peers import Peer, peer
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
KEEP_SECONDS = 1800
MOST = 99
MOST_LINES = 50


class Carts:
    """One Redis hash a session: product to quantity."""

    def __init__(self, store: Store, products: Peer) -> None:
        self.store, self.products = store, products

    async def add(self, session: str, product: int, quantity: int) -> dict[str, Any]:
        """Put a product in, or more of it."""
        if not 1 <= quantity <= MOST:
            raise HTTPException(400, f"quantity must be 1 to {MOST}")
        found = await self.products.get(f"/products/{product}")
        if found["stock"] < quantity:
            raise HTTPException(409, f"product {product} is sold out")
        key = f"cart:{session}"
        if await self.store.client.hlen(key) >= MOST_LINES:
            raise HTTPException(409, f"a cart holds at most {MOST_LINES} products")
        count = await self.store.client.hincrby(key, str(product), quantity)
        await self.store.client.expire(key, KEEP_SECONDS)
        log.info("added %d of product %d", quantity, product)
        told = {name: found[name] for name in ("name", "price", "weight")}
        return {"product": product, "quantity": count} | told

    async def change(self, session: str, product: int, quantity: int) -> None:
        """Set the quantity of a product that is in the cart; 0 takes it out."""
        if not 0 <= quantity <= MOST:
            raise HTTPException(400, f"quantity must be 0 to {MOST}")
        if not await self.store.client.hexists(f"cart:{session}", str(product)):
            raise HTTPException(404, f"product {product} is not in the cart")
        if quantity:
            await self.store.client.hset(f"cart:{session}", str(product), quantity)
        else:
            await self.store.client.hdel(f"cart:{session}", str(product))

    async def view(self, session: str) -> dict[str, Any]:
        """All lines with today's prices, and their sum."""
        held = await self.store.client.hgetall(f"cart:{session}")
        if not held:
            return {"lines": [], "total": 0, "grams": 0}
        await self.store.client.expire(f"cart:{session}", KEEP_SECONDS)
        found = (await self.products.get("/products", ids=",".join(str(product) for product in held)))["products"]
        lines = [_line(product, int(held[str(product["id"])])) for product in found]
        return {
            "lines": lines,
            "total": total([(line["price"], line["quantity"]) for line in lines]),
            "grams": sum(line["weight"] * line["quantity"] for line in lines),
        }

    async def clear(self, session: str) -> None:
        """Forget the cart."""
        await self.store.client.delete(f"cart:{session}")


def _line(product: dict[str, Any], quantity: int) -> dict[str, Any]:
    amount = product["price"] * quantity
    return {
        "product": product["id"],
        "name": product["name"],
        "price": product["price"],
        "weight": product["weight"],
        "quantity": quantity,
        "amount": amount,
        "tag": price_tag(product["name"], amount),
    }


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    store = Store(settings.redis)
    products = peer(settings, "products")
    carts = Carts(store, products)

    async def add(request: Request) -> Response:
        body = await body_of(request)
        return JSONResponse(
            await carts.add(request.path_params["session"], number(body, "product"), number(body, "quantity", default=1))
        )

    async def change(request: Request) -> Response:
        quantity = number(await body_of(request), "quantity")
        await carts.change(request.path_params["session"], request.path_params["product"], quantity)
        return JSONResponse({})

    async def view(request: Request) -> Response:
        session = request.path_params["session"]
        cart = await carts.view(session)
        return JSONResponse(cart | {"seal": sign(f"{session}/{cart['total']}")[:12]})

    async def clear(request: Request) -> Response:
        await carts.clear(request.path_params["session"])
        return JSONResponse({})

    routes = [
        Route("/carts/{session}", view),
        Route("/carts/{session}", clear, methods=["DELETE"]),
        Route("/carts/{session}/lines", add, methods=["POST"]),
        Route("/carts/{session}/lines/{product:int}", change, methods=["PUT"]),
    ]
    return routes, [store, products]


if __name__ == "__main__":
    run(make)
