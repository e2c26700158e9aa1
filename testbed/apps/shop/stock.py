"""Stock that is taken for an order and given back, by the order's number: however often and in whichever order it is told."""

from __future__ import annotations

import logging

from asyncpg.pool import PoolConnectionProxy
from starlette.exceptions import HTTPException

from kit.database import Database

log = logging.getLogger(__name__)


class Stock:
    """Reservations in Postgres. One that was released stays released, so that a late request cannot take stock for good."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def reserve(self, order: int, lines: list[tuple[int, int]]) -> dict[int, int]:
        """Take stock for all (product, quantity) or for none; gives each product's price, again when told again.

        409 names what is sold out, or says that the reservation has ended.
        """
        async with self.database.connection() as connection, connection.transaction():
            fresh = await connection.fetchval(
                "INSERT INTO reservations VALUES ($1, 'held', '{}', '{}', '{}') ON CONFLICT DO NOTHING RETURNING order_id", order
            )
            if fresh is None:
                return await self._held(connection, order)
            prices = {product: await _take(connection, product, quantity) for product, quantity in sorted(lines)}
            await connection.execute(
                "UPDATE reservations SET products = $2, quantities = $3, prices = $4 WHERE order_id = $1",
                order,
                [product for product, _ in sorted(lines)],
                [quantity for _, quantity in sorted(lines)],
                list(prices.values()),
            )
        return prices

    async def release(self, order: int) -> None:
        """Give back what is held for an order that came to nothing, once; what comes later to reserve for it is refused."""
        async with self.database.connection() as connection, connection.transaction():
            await connection.execute(
                "INSERT INTO reservations VALUES ($1, 'none', '{}', '{}', '{}') ON CONFLICT DO NOTHING", order
            )
            held = await connection.fetchrow(
                "UPDATE reservations SET state = 'released' WHERE order_id = $1 AND state IN ('held', 'none')"
                " RETURNING products, quantities",
                order,
            )
            for product, quantity in zip(held["products"], held["quantities"], strict=True) if held else ():
                await connection.execute(
                    "UPDATE products SET stock = stock + $2, sold = sold - $2 WHERE id = $1", product, quantity
                )
        log.info("released what order %d held", order)

    async def _held(self, connection: PoolConnectionProxy, order: int) -> dict[int, int]:
        row = await connection.fetchrow("SELECT state, products, prices FROM reservations WHERE order_id = $1", order)
        if row is None or row["state"] != "held":
            raise HTTPException(409, "the reservation has ended")
        return dict(zip(row["products"], row["prices"], strict=True))


async def _take(connection: PoolConnectionProxy, product: int, quantity: int) -> int:
    """The price of a product whose stock was enough."""
    price: int | None = await connection.fetchval(
        "UPDATE products SET stock = stock - $2, sold = sold + $2 WHERE id = $1 AND stock >= $2 RETURNING price",
        product,
        quantity,
    )
    if price is None:
        log.info("product %d is sold out", product)
        raise HTTPException(409, f"product {product} is sold out")
    return price
