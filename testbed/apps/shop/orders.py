"""orders: turns a cart and an authorised payment into an order, exactly once.

placing -> charging (stock is held, the sum is known) -> paid; or -> cancelling -> cancelled.
Whoever leaves an order on the way, recovery.py finishes it or takes it back.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.events import PLACED
from apps.shop.pricing import money, price_tag, sign, total
from apps.shop.recovery import LEASE_SECONDS, Recovery
from apps.shop.seed import prepare
from kit.bodies import body_of, optional_word, word
from kit.cache import Store
from kit.database import Database
from kit.outbox import Outbox
from kit.paging import Page, page
from kit.peers import Peer, PeerError, peer
from kit.periodic import Periodic
from kit.queue import Queue
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
PLACING_SECONDS = 5.0
"""Within the lease, so that recovery leaves alone what is still being placed."""
assert PLACING_SECONDS < LEASE_SECONDS


class Orders:
    """Orders in Postgres."""

    def __init__(self, database: Database, recovery: Recovery, cart: Peer, products: Peer, shipping: Peer, payment: Peer) -> None:
        self.database, self.recovery = database, recovery
        self.cart, self.products, self.shipping, self.payment = cart, products, shipping, payment

    async def open(self) -> None:
        """Make the tables when they are not there."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def place(self, owner: str, session: str, key: str, token: str, country: str) -> dict[str, Any]:
        """Reserve, charge, record, clear the cart. The same key gives the same order again; what fails is taken back."""
        known = await self._by_key(owner, key)
        if known:
            return known
        order = await self._claim(owner, session, key, token, country)
        try:
            async with asyncio.timeout(PLACING_SECONDS):
                due = await self._reserve(order, session, country)
                await self.payment.post("/captures", {"token": token, "amount": due, "order": order, "owner": owner})
                await self.recovery.paid(order)
        except Exception as error:
            if await self.recovery.give_up(order):
                await self.recovery.take_back(order, token)
            if isinstance(error, TimeoutError):
                raise HTTPException(504, "the order took too long") from error
            raise
        await self._clear_cart(session)
        log.info("order %d placed over %s", order, money(due))
        return _receipt(order, due)

    async def list(self, owner: str, where: Page) -> list[dict[str, Any]]:
        """The customer's orders with their lines, the latest first."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "SELECT o.id, o.total, o.shipping, o.country, o.arrives, o.state, o.at, l.product, l.quantity, l.price FROM"
                " (SELECT * FROM orders WHERE owner = $1 AND state = 'paid' AND ($2::bigint IS NULL OR id < $2)"
                "  ORDER BY id DESC LIMIT $3) o"
                " JOIN order_lines l ON l.order_id = o.id ORDER BY o.id DESC, l.product",
                owner,
                where.after,
                where.size,
            )
        orders: dict[int, dict[str, Any]] = {}
        for r in rows:
            order = orders.setdefault(r["id"], {"order": r["id"], "lines": []} | _summary(dict(r)))
            tag = price_tag(str(r["product"]), r["price"])
            order["lines"].append({"product": r["product"], "quantity": r["quantity"], "price": r["price"], "tag": tag})
        return [*orders.values()]

    async def _by_key(self, owner: str, key: str) -> dict[str, Any] | None:
        async with self.database.connection() as connection:
            row = await connection.fetchrow(
                "SELECT id, total FROM orders WHERE key = $1 AND owner = $2 AND state = 'paid'", key, owner
            )
        return _receipt(row["id"], row["total"]) if row else None

    async def _claim(self, owner: str, session: str, key: str, token: str, country: str) -> int:
        """The number that the order will have; 409 while another request places it."""
        async with self.database.connection() as connection:
            order: int | None = await connection.fetchval(
                "INSERT INTO orders (owner, cart, key, token, country, state) VALUES ($1, $2, $3, $4, $5, 'placing')"
                " ON CONFLICT (owner, key) WHERE state <> 'cancelled' DO NOTHING RETURNING id",
                owner,
                session,
                key,
                token,
                country,
            )
        if order is None:
            raise HTTPException(409, "this order is being placed")
        return order

    async def _reserve(self, order: int, session: str, country: str) -> int:
        """Hold the stock of what is in the cart; gives what is to be paid, with delivery."""
        cart = await self.cart.get(f"/carts/{session}")
        if not cart["lines"]:
            raise HTTPException(409, "the cart is empty")
        lines = [{"product": x["product"], "quantity": x["quantity"]} for x in cart["lines"]]
        prices = (await self.products.post("/reservations", {"order": order, "lines": lines}))["prices"]
        bought = [(x["product"], x["quantity"], int(prices[str(x["product"])])) for x in lines]
        goods = total([(price, quantity) for _, quantity, price in bought])
        quote = await self.shipping.get("/quotes", country=country, grams=cart["grams"], goods=goods)
        await self._record(order, goods + quote["cost"], quote, bought)
        return goods + int(quote["cost"])

    async def _record(self, order: int, due: int, quote: dict[str, Any], lines: Sequence[tuple[int, int, int]]) -> None:
        """What is bought at which price, before any money moves; 409 when the order was given up meanwhile."""
        async with self.database.connection() as connection, connection.transaction():
            ours = await connection.fetchval(
                "UPDATE orders SET total = $2, shipping = $3, arrives = $4, state = 'charging'"
                " WHERE id = $1 AND state = 'placing' RETURNING id",
                order,
                due,
                quote["cost"],
                dt.date.fromisoformat(quote["arrives"]),
            )
            if ours is None:
                raise HTTPException(409, "this order came to nothing, please order again")
            await connection.executemany(
                "INSERT INTO order_lines (order_id, product, quantity, price) VALUES ($1, $2, $3, $4)",
                [(order, p, q, c) for p, q, c in sorted(lines)],
            )

    async def _clear_cart(self, session: str) -> None:
        """The order stands, cleared or not."""
        try:
            await self.cart.delete(f"/carts/{session}")
        except PeerError:
            log.warning("a cart was not cleared after its order", exc_info=True)


def _summary(row: dict[str, Any]) -> dict[str, Any]:
    shown = {name: row[name] for name in ("total", "shipping", "country", "state")}
    return shown | {"arrives": row["arrives"].isoformat(), "at": row["at"].isoformat()}


def _receipt(order: int, due: int) -> dict[str, Any]:
    return {"order": order, "total": due, "seal": sign(f"{order}/{due}")[:16]}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    cart, products, shipping, payment = peers = [peer(settings, n) for n in ("cart", "products", "shipping", "payment")]
    outbox = Outbox(database, [Queue(store, PLACED)])
    recovery = Recovery(database, outbox, products, payment)
    orders = Orders(database, recovery, cart, products, shipping, payment)

    async def place(request: Request) -> Response:
        body = await body_of(request)
        owner, session, country = word(body, "owner"), word(body, "session"), optional_word(body, "country", "DE")
        return JSONResponse(await orders.place(owner, session, word(body, "key"), word(body, "token"), country), 201)

    async def list_orders(request: Request) -> Response:
        where = page(request, default=10)
        found = await orders.list(request.path_params["owner"], where)
        following = found[-1]["order"] if len(found) == where.size else None
        return JSONResponse({"orders": found, "next": following, "seal": sign(f"{following}/{len(found)}")[:12]})

    routes = [Route("/orders", place, methods=["POST"]), Route("/orders/{owner}", list_orders)]
    return routes, [database, store, *peers, orders, outbox, Periodic("recovering orders", 3.0, recovery.sweep)]


if __name__ == "__main__":
    run(make)
