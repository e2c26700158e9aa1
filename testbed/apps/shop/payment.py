"""payment: authorises cards, captures what was authorised once, gives it back once, and keeps the books."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import money, sign
from apps.shop.seed import prepare
from kit.bodies import body_of, number, word
from kit.database import Database
from kit.paging import Page, page
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
LIMIT = 5_000_000


class Ledger:
    """Payments in Postgres, and an entry for all money that moves."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def open(self) -> None:
        """Make the tables when they are not there."""
        async with self.database.connection() as connection:
            await prepare(connection)

    async def close(self) -> None:
        """Nothing to close."""

    async def authorise(self, owner: str, card: str, amount: int) -> str:
        """A token for the amount; 402 for a card that is none or an amount over the limit."""
        digits = card.replace(" ", "")
        if not digits.isascii() or not digits.isdigit() or len(digits) != 16 or not _luhn(digits):
            raise HTTPException(402, "the card number is not valid")
        if not 0 < amount <= LIMIT:
            raise HTTPException(402, f"the amount must be up to {money(LIMIT)}")
        token = sign(f"{digits}/{amount}/{secrets.token_hex(8)}")[:32]
        async with self.database.connection() as connection:
            await connection.execute(
                "INSERT INTO payments (token, owner, amount, card, state) VALUES ($1, $2, $3, $4, 'authorised')",
                token,
                owner,
                amount,
                f"****{digits[-4:]}",
            )
        log.info("authorised %s on card ending %s", money(amount), digits[-4:])
        return token

    async def capture(self, token: str, amount: int, order: int, owner: str) -> str:
        """Take an order's money and give a receipt; the same order may ask again.

        402 unless the token was authorised for at least that much and neither used for another order nor ended.
        """
        async with self.database.connection() as connection, connection.transaction():
            taken = await connection.fetchval(
                "UPDATE payments SET state = 'captured', amount = $2, order_id = $3, owner = $4"
                " WHERE token = $1 AND state = 'authorised' AND amount >= $2 RETURNING token",
                token,
                amount,
                order,
                owner,
            )
            if taken is not None:
                await self._enter(connection, token, "capture")
            elif not await connection.fetchval(
                "SELECT EXISTS (SELECT FROM payments WHERE token = $1 AND amount = $2 AND order_id = $3 AND state = 'captured')",
                token,
                amount,
                order,
            ):
                raise HTTPException(402, "the payment is not authorised for this amount")
        log.info("captured %s", money(amount))
        return sign(f"{token}/{amount}")

    async def give_back(self, token: str, order: int) -> None:
        """End the payment of an order that came to nothing; one that another order has captured stays as it is."""
        async with self.database.connection() as connection, connection.transaction():
            state = await connection.fetchval(
                "UPDATE payments SET state = CASE state WHEN 'captured' THEN 'refunded' ELSE 'void' END"
                " WHERE token = $1 AND (state = 'authorised' OR state = 'captured' AND order_id = $2) RETURNING state",
                token,
                order,
            )
            if state == "refunded":
                await self._enter(connection, token, "refund")
        log.info("payment %s", state or "was unknown or had ended before")

    async def entries(self, owner: str, where: Page) -> dict[str, Any]:
        """A customer's movements of money, the latest first, and their sums."""
        async with self.database.connection() as connection:
            rows = await connection.fetch(
                "SELECT l.id, l.kind, l.order_id, l.amount, l.at, p.card FROM ledger l JOIN payments p USING (token)"
                " WHERE l.owner = $1 AND ($2::bigint IS NULL OR l.id < $2) ORDER BY l.id DESC LIMIT $3",
                owner,
                where.after,
                where.size,
            )
            moved = await connection.fetch("SELECT kind, sum(amount) AS cents FROM ledger WHERE owner = $1 GROUP BY kind", owner)
        payments = [
            {"entry": r["id"], "kind": r["kind"], "order": r["order_id"], "amount": r["amount"], "card": r["card"]}
            | {"at": r["at"].isoformat(), "shown": money(r["amount"])}
            for r in rows
        ]
        sums = {r["kind"]: r["cents"] for r in moved}
        captured, refunded = sums.get("capture", 0), sums.get("refund", 0)
        following = rows[-1]["id"] if len(rows) == where.size else None
        return {"payments": payments, "captured": captured, "refunded": refunded, "next": following}

    async def _enter(self, connection: Any, token: str, kind: str) -> None:
        await connection.execute(
            "INSERT INTO ledger (owner, token, kind, order_id, amount)"
            " SELECT owner, token, $2, order_id, amount FROM payments WHERE token = $1",
            token,
            kind,
        )


def _luhn(digits: str) -> bool:
    figures = [int(d) for d in reversed(digits)]
    return (sum(figures[::2]) + sum(sum(divmod(2 * d, 10)) for d in figures[1::2])) % 10 == 0


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database = Database(settings)
    ledger = Ledger(database)

    async def authorise(request: Request) -> Response:
        body = await body_of(request)
        return JSONResponse({"token": await ledger.authorise(word(body, "owner"), word(body, "card"), number(body, "amount"))})

    async def capture(request: Request) -> Response:
        body = await body_of(request)
        receipt = await ledger.capture(word(body, "token"), number(body, "amount"), number(body, "order"), word(body, "owner"))
        return JSONResponse({"receipt": receipt})

    async def give_back(request: Request) -> Response:
        body = await body_of(request)
        await ledger.give_back(word(body, "token"), number(body, "order"))
        return JSONResponse({})

    async def entries(request: Request) -> Response:
        found = await ledger.entries(request.path_params["owner"], page(request))
        return JSONResponse(found | {"seal": sign(f"{found['captured']}/{found['refunded']}")[:12]})

    routes = [
        Route("/authorisations", authorise, methods=["POST"]),
        Route("/captures", capture, methods=["POST"]),
        Route("/refunds", give_back, methods=["POST"]),
        Route("/payments/{owner}", entries),
    ]
    return routes, [database, ledger]


if __name__ == "__main__":
    run(make)
