"""How an order ends: paid with its message, or taken back; also when what was placing it died on the way."""

from __future__ import annotations

import logging

import asyncpg
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from starlette.exceptions import HTTPException

from apps.shop.events import PLACED, placed
from apps.shop.pricing import money
from kit.database import Database
from kit.outbox import Outbox
from kit.peers import Peer, PeerError

log = logging.getLogger(__name__)
tracer = trace.get_tracer(__name__)
LEASE_SECONDS = 8
"""For so long nobody else touches an order that is being placed, or taken back."""
BATCH = 20


class Recovery:
    """The last steps of orders. Each may be done again: peers go by the order's number, and states only go forward."""

    def __init__(self, database: Database, outbox: Outbox, products: Peer, payment: Peer) -> None:
        self.database, self.outbox = database, outbox
        self.products, self.payment = products, payment

    async def paid(self, order: int) -> None:
        """The money is there: the order stands, and its message with it; 409 when it was given up meanwhile."""
        async with self.database.connection() as connection, connection.transaction():
            row = await connection.fetchrow(
                "UPDATE orders SET state = 'paid', at = now() WHERE id = $1 AND state = 'charging'"
                " RETURNING id, owner, total, shipping, arrives",
                order,
            )
            if row is None:
                raise HTTPException(409, "this order came to nothing, please order again")
            lines = await connection.fetch("SELECT product, quantity, price FROM order_lines WHERE order_id = $1", order)
            await self.outbox.put(connection, PLACED, placed(row, lines))
        self.outbox.hurry()

    async def give_up(self, order: int) -> bool:
        """Decide that the order comes to nothing; False when it has been decided already."""
        async with self.database.connection() as connection:
            state = await connection.fetchval(
                "UPDATE orders SET state = 'cancelling', at = now() WHERE id = $1 AND state IN ('placing', 'charging')"
                " RETURNING state",
                order,
            )
        return state is not None

    async def take_back(self, order: int, token: str) -> None:
        """Give stock and money of an order back that was given up. What does not answer is asked again by the next sweep."""
        try:
            await self.products.post("/releases", {"order": order})
            async with self.database.connection() as connection:
                charged = await connection.fetchval("SELECT total > 0 FROM orders WHERE id = $1", order)
            # Before that state no money was asked for, and the payment may still buy something.
            if charged:
                await self.payment.post("/refunds", {"token": token, "order": order})
        except PeerError:
            log.exception("order %d is still to be taken back", order)
            return
        async with self.database.connection() as connection:
            await connection.execute("UPDATE orders SET state = 'cancelled' WHERE id = $1 AND state = 'cancelling'", order)
        log.warning("order %d came to nothing; its stock and money were given back", order)

    async def sweep(self) -> None:
        """Finish or take back what was left on the way."""
        with suppress_instrumentation():
            async with self.database.connection() as connection:
                left = await connection.fetch(
                    "UPDATE orders SET at = now() WHERE id IN (SELECT id FROM orders"
                    "  WHERE state IN ('placing', 'charging', 'cancelling') AND at < now() - make_interval(secs => $1)"
                    "  ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id, owner, token, total, state",
                    LEASE_SECONDS,
                    BATCH,
                )
        for row in left:
            with tracer.start_as_current_span("recover order"):
                await self._recover(row)

    async def _recover(self, row: asyncpg.Record) -> None:
        order, token = row["id"], row["token"]
        log.warning("order %d was left while %s", order, row["state"])
        if row["state"] == "charging" and await self._finish(row):
            return
        if row["state"] == "cancelling" or await self.give_up(order):
            await self.take_back(order, token)

    async def _finish(self, row: asyncpg.Record) -> bool:
        """Whether the order stands now, or payment does not answer yet; False when it was refused."""
        capture = {"token": row["token"], "amount": row["total"], "order": row["id"], "owner": row["owner"]}
        try:
            await self.payment.post("/captures", capture)
            await self.paid(row["id"])
        except PeerError as error:
            return error.status >= 500
        except HTTPException:
            return True
        log.info("order %d stands after all, over %s", row["id"], money(row["total"]))
        return True
