"""orders: turns a cart and an authorised payment into an order, exactly once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import asyncpg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import money, price_tag, shipping, sign, total
from apps.shop.seed import prepare
from kit.database import Database
from kit.peers import Peer, PeerError
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
PAGE = 10


class Orders:
    """Orders in Postgres."""

    def __init__(self, database: Database, cart: Peer, products: Peer, payment: Peer) -> None:
        self.database, self.cart, self.products, self.payment = database, cart, products, payment

    async def open(self) -> None:
        """Make the tables when they are not there."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def place(self, session: str, key: str, token: str) -> dict[str, Any]:
        """Reserve, capture, record, clear the cart. The same key gives the same order again; what fails gives stock back."""
        known = await self._by_key(session, key)
        if known:
            return known
        cart = await self.cart.get(f"/carts/{session}")
        if not cart["lines"]:
            raise HTTPException(409, "the cart is empty")
        lines = [{"product": x["product"], "quantity": x["quantity"]} for x in cart["lines"]]
        reserved = await self.products.post("/reservations", lines)
        prices = {int(k): v for k, v in reserved["prices"].items()}
        goods = total([(prices[x["product"]], x["quantity"]) for x in lines])
        due = goods + shipping(goods)
        try:
            await self.payment.post("/captures", {"token": token, "amount": due})
            order = await self._record(
                session, key, token, due, shipping(goods), [(x["product"], x["quantity"], prices[x["product"]]) for x in lines]
            )
        except (PeerError, asyncpg.PostgresError):
            log.warning("giving back the stock of an order that failed")
            await self.products.post("/releases", lines)
            raise
        await self.cart.delete(f"/carts/{session}")
        log.info("order %d placed over %s", order, money(due))
        return {"order": order, "total": due, "seal": sign(f"{order}/{due}")[:16]}

    async def list(self, session: str) -> list[dict[str, Any]]:
        """The session's latest orders with their lines."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "SELECT o.id, o.total, o.shipping, o.state, o.at, l.product, l.quantity, l.price FROM"
                " (SELECT * FROM orders WHERE session = $1 ORDER BY id DESC LIMIT $2) o"
                " JOIN order_lines l ON l.order_id = o.id ORDER BY o.id DESC, l.product",
                session,
                PAGE,
            )
        orders: dict[int, dict[str, Any]] = {}
        for r in rows:
            order = orders.setdefault(
                r["id"],
                {
                    "order": r["id"],
                    "total": r["total"],
                    "shipping": r["shipping"],
                    "state": r["state"],
                    "at": r["at"].isoformat(),
                    "lines": [],
                },
            )
            tag = price_tag(str(r["product"]), r["price"])
            order["lines"].append({"product": r["product"], "quantity": r["quantity"], "price": r["price"], "tag": tag})
        return list(orders.values())

    async def _by_key(self, session: str, key: str) -> dict[str, Any] | None:
        async with self.database.connection() as connection:
            row = await connection.fetchrow("SELECT id, total FROM orders WHERE key = $1 AND session = $2", key, session)
        return {"order": row["id"], "total": row["total"], "seal": sign(f"{row['id']}/{row['total']}")[:16]} if row else None

    async def _record(
        self, session: str, key: str, token: str, due: int, carriage: int, lines: Sequence[tuple[int, int, int]]
    ) -> int:
        async with self.database.connection() as connection, connection.transaction():
            order: int = await connection.fetchval(
                "INSERT INTO orders (session, key, total, shipping, token, state)"
                " VALUES ($1, $2, $3, $4, $5, 'paid') RETURNING id",
                session,
                key,
                due,
                carriage,
                token,
            )
            await connection.executemany(
                "INSERT INTO order_lines (order_id, product, quantity, price) VALUES ($1, $2, $3, $4)",
                [(order, p, q, c) for p, q, c in sorted(lines)],
            )
        return order


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database = Database(settings.database)
    peers = (Peer(name, settings.peer(name), timeout=2.5) for name in ("cart", "products", "payment"))
    orders = Orders(database, *peers)

    async def place(request: Request) -> Response:
        body = await request.json()
        return JSONResponse(await orders.place(str(body["session"]), str(body["key"]), str(body["token"])), 201)

    async def list_orders(request: Request) -> Response:
        return JSONResponse({"orders": await orders.list(request.path_params["session"])})

    routes = [Route("/orders", place, methods=["POST"]), Route("/orders/{session}", list_orders)]
    return routes, [database, orders]


if __name__ == "__main__":
    run(make)
