"""orders: turns a cart and an authorised payment into an order, exactly once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import money, price_tag, shipping, sign, total
from apps.shop.seed import prepare
from kit.bodies import body_of, word
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
        """Reserve, capture, record, clear the cart. The same key gives the same order again; what fails is taken back."""
        known = await self._by_key(session, key)
        if known:
            return known
        order = await self._claim(session, key, token)
        reserved: list[dict[str, int]] = []
        try:
            cart = await self.cart.get(f"/carts/{session}")
            if not cart["lines"]:
                raise HTTPException(409, "the cart is empty")
            lines = [{"product": x["product"], "quantity": x["quantity"]} for x in cart["lines"]]
            prices = (await self.products.post("/reservations", lines))["prices"]
            reserved = lines
            bought = [(x["product"], x["quantity"], int(prices[str(x["product"])])) for x in lines]
            goods = total([(price, quantity) for _, quantity, price in bought])
            due = goods + shipping(goods)
            await self.payment.post("/captures", {"token": token, "amount": due, "order": order})
            await self._record(order, token, due, shipping(goods), bought)
        except Exception:
            await self._take_back(order, token, reserved)
            raise
        await self._clear_cart(session)
        log.info("order %d placed over %s", order, money(due))
        return _receipt(order, due)

    async def list(self, session: str) -> list[dict[str, Any]]:
        """The session's latest orders with their lines."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "SELECT o.id, o.total, o.shipping, o.state, o.at, l.product, l.quantity, l.price FROM"
                " (SELECT * FROM orders WHERE session = $1 AND state = 'paid' ORDER BY id DESC LIMIT $2) o"
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
            row = await connection.fetchrow(
                "SELECT id, total FROM orders WHERE key = $1 AND session = $2 AND state = 'paid'", key, session
            )
        return _receipt(row["id"], row["total"]) if row else None

    async def _claim(self, session: str, key: str, token: str) -> int:
        """The number that the order will have; 409 while another request places it. A claim is given up after 30 seconds."""
        async with self.database.connection() as connection:
            order: int | None = await connection.fetchval(
                "INSERT INTO orders (session, key, total, shipping, token, state) VALUES ($1, $2, 0, 0, $3, 'placing')"
                " ON CONFLICT (session, key) DO UPDATE SET at = now(), token = excluded.token"
                " WHERE orders.state = 'placing' AND orders.at < now() - interval '30 seconds' RETURNING id",
                session,
                key,
                token,
            )
        if order is None:
            raise HTTPException(409, "this order is being placed")
        return order

    async def _record(self, order: int, token: str, due: int, carriage: int, lines: Sequence[tuple[int, int, int]]) -> None:
        async with self.database.connection() as connection, connection.transaction():
            await connection.execute(
                "UPDATE orders SET total = $2, shipping = $3, token = $4, state = 'paid', at = now() WHERE id = $1",
                order,
                due,
                carriage,
                token,
            )
            await connection.executemany(
                "INSERT INTO order_lines (order_id, product, quantity, price) VALUES ($1, $2, $3, $4)",
                [(order, p, q, c) for p, q, c in sorted(lines)],
            )

    async def _take_back(self, order: int, token: str, reserved: Sequence[dict[str, int]]) -> None:
        """Undo what was done for an order that came to nothing, unless it was recorded after all."""
        async with self.database.connection() as connection:
            ended = await connection.fetchval("DELETE FROM orders WHERE id = $1 AND state = 'placing' RETURNING id", order)
        if ended is None or not reserved:
            return
        log.warning("order %d came to nothing; giving back its stock and money", order)
        for peer, path, body in (
            (self.products, "/releases", reserved),
            (self.payment, "/refunds", {"token": token, "order": order}),
        ):
            try:
                await peer.post(path, body)
            except PeerError:
                log.exception("order %d: %s at %s is still to be done", order, path, peer.name)

    async def _clear_cart(self, session: str) -> None:
        """The order stands, cleared or not."""
        try:
            await self.cart.delete(f"/carts/{session}")
        except PeerError:
            log.warning("a cart was not cleared after its order", exc_info=True)


def _receipt(order: int, due: int) -> dict[str, Any]:
    return {"order": order, "total": due, "seal": sign(f"{order}/{due}")[:16]}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database = Database(settings)
    peers = [Peer(name, settings.peer(name), timeout=2.5) for name in ("cart", "products", "payment")]
    orders = Orders(database, *peers)

    async def place(request: Request) -> Response:
        body = await body_of(request)
        return JSONResponse(await orders.place(word(body, "session"), word(body, "key"), word(body, "token")), 201)

    async def list_orders(request: Request) -> Response:
        return JSONResponse({"orders": await orders.list(request.path_params["session"])})

    routes = [Route("/orders", place, methods=["POST"]), Route("/orders/{session}", list_orders)]
    return routes, [database, orders, *peers]


if __name__ == "__main__":
    run(make)
