"""payment: authorises cards and captures what was authorised, once."""

from __future__ import annotations

import logging
import secrets

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import money, sign
from apps.shop.seed import prepare
from kit.bodies import body_of, number, word
from kit.database import Database
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
LIMIT = 5_000_000


class Ledger:
    """Payments in Postgres."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def open(self) -> None:
        """Make the tables when they are not there."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def authorise(self, card: str, amount: int) -> str:
        """A token for the amount; 402 for a card that is none or an amount over the limit."""
        digits = card.replace(" ", "")
        if not digits.isdigit() or len(digits) != 16 or not _luhn(digits):
            raise HTTPException(402, "the card number is not valid")
        if not 0 < amount <= LIMIT:
            raise HTTPException(402, f"the amount must be up to {money(LIMIT)}")
        token = sign(f"{digits}/{amount}/{secrets.token_hex(8)}")[:32]
        async with self.database.connection() as connection:
            await connection.execute(
                "INSERT INTO payments (token, amount, card, state) VALUES ($1, $2, $3, 'authorised')",
                token,
                amount,
                f"****{digits[-4:]}",
            )
        log.info("authorised %s on card ending %s", money(amount), digits[-4:])
        return token

    async def capture(self, token: str, amount: int, order: int) -> str:
        """Take an order's money; 402 unless the token was authorised for at least that much and not used. Gives a receipt."""
        async with self.database.connection() as connection:
            row = await connection.fetchrow(
                "UPDATE payments SET state = 'captured', amount = $2, order_id = $3"
                " WHERE token = $1 AND state = 'authorised' AND amount >= $2 RETURNING card",
                token,
                amount,
                order,
            )
        if row is None:
            raise HTTPException(402, "the payment is not authorised for this amount")
        log.info("captured %s", money(amount))
        return sign(f"{token}/{amount}")

    async def give_back(self, token: str, order: int) -> None:
        """End the payment of an order that came to nothing; one that another order has captured stays as it is."""
        async with self.database.connection() as connection:
            state = await connection.fetchval(
                "UPDATE payments SET state = CASE state WHEN 'captured' THEN 'refunded' ELSE 'void' END"
                " WHERE token = $1 AND (state = 'authorised' OR state = 'captured' AND order_id = $2) RETURNING state",
                token,
                order,
            )
        log.info("payment %s", state or "was unknown or had ended before")


def _luhn(digits: str) -> bool:
    figures = [int(d) for d in reversed(digits)]
    return (sum(figures[::2]) + sum(sum(divmod(2 * d, 10)) for d in figures[1::2])) % 10 == 0


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database = Database(settings)
    ledger = Ledger(database)

    async def authorise(request: Request) -> Response:
        body = await body_of(request)
        return JSONResponse({"token": await ledger.authorise(word(body, "card"), number(body, "amount"))})

    async def capture(request: Request) -> Response:
        body = await body_of(request)
        return JSONResponse({"receipt": await ledger.capture(word(body, "token"), number(body, "amount"), number(body, "order"))})

    async def give_back(request: Request) -> Response:
        body = await body_of(request)
        await ledger.give_back(word(body, "token"), number(body, "order"))
        return JSONResponse({})

    routes = [
        Route("/authorisations", authorise, methods=["POST"]),
        Route("/captures", capture, methods=["POST"]),
        Route("/refunds", give_back, methods=["POST"]),
    ]
    return routes, [database, ledger]


if __name__ == "__main__":
    run(make)
