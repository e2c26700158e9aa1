"""payment: takes the money for a booking once, gives it back once, and keeps a ledger that adds up."""

from __future__ import annotations

import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.fares import money
from apps.travel.schema import Tables
from apps.travel.signatures import sign
from kit.bodies import body_of, number, word
from kit.database import Database
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
LIMIT = 5_000_000
_DECLINED = "0002"
"""The last digits of the card that every bank declines, for trying that out."""
_ENTER = """
INSERT INTO ledger (payment, kind, booking, account, amount, card) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (payment, kind) DO NOTHING"""
_SUMS = """
SELECT coalesce(sum(amount) FILTER (WHERE kind = 'payment'), 0)::int AS captured,
  coalesce(sum(amount) FILTER (WHERE kind = 'refund'), 0)::int AS refunded FROM ledger WHERE """


class Ledger:
    """Entries in Postgres, one of each kind for a payment. A payment of 0 was withdrawn before anything was captured."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def capture(self, payment: str, booking: str, account: int, amount: int, card: str) -> dict[str, Any]:
        """Authorise and capture; asked again, the same receipt. 402 for a card that is none or declined, 409 once withdrawn."""
        digits = card.replace(" ", "")
        if not (digits.isascii() and digits.isdigit() and len(digits) == 16 and _luhn(digits)):
            raise HTTPException(402, "the card number is not valid")
        if not 0 < amount <= LIMIT:
            raise HTTPException(402, f"the amount must be up to {money(LIMIT)}")
        if digits.endswith(_DECLINED):
            raise HTTPException(402, "the card was declined")
        entered = await self._settle(payment, booking, account, amount, f"****{digits[-4:]}")
        if entered != amount:
            raise HTTPException(409, "this payment was withdrawn")
        log.info("captured %s for %s", money(amount), booking)
        return {"captured": amount, "receipt": sign(f"{payment}/{amount}")}

    async def withdraw(self, payment: str, booking: str, account: int) -> int:
        """Make sure that the payment will never be captured, unless it was already; the cents that were."""
        return await self._settle(payment, booking, account, 0, "")

    async def refund(self, payment: str, booking: str, account: int, amount: int) -> dict[str, Any]:
        """Give back so much of what was captured, once; 409 when that is more than there is."""
        async with self.database.connection() as connection, connection.transaction():
            captured = await connection.fetchrow(
                "SELECT amount, card FROM ledger WHERE payment = $1 AND kind = 'payment' FOR UPDATE", payment
            )
            if captured is None or not 0 <= amount <= captured["amount"]:
                raise HTTPException(409, "more cannot be given back than was paid")
            if amount:
                await connection.execute(_ENTER, payment, "refund", booking, account, amount, captured["card"])
        log.info("gave back %s for %s", money(amount), booking)
        return {"refunded": amount, "receipt": sign(f"{payment}/-{amount}")}

    async def sums(self, booking: str | None, account: int | None) -> dict[str, Any]:
        """Captured and refunded cents of a booking or of an account."""
        column, value = ("booking", booking) if booking else ("account", account)
        async with self.database.connection() as connection:
            row = await connection.fetchrow(f"{_SUMS} {column} = $1", value)
        assert row is not None
        return dict(row) | {"seal": sign(f"{value}/{row['captured']}/{row['refunded']}", 12)}

    async def _settle(self, payment: str, booking: str, account: int, amount: int, card: str) -> int:
        """Enter the payment unless it is there already; the amount that stands."""
        async with self.database.connection() as connection, connection.transaction():
            await connection.execute(_ENTER, payment, "payment", booking, account, amount, card)
            stands: int = await connection.fetchval("SELECT amount FROM ledger WHERE payment = $1 AND kind = 'payment'", payment)
        return stands


def _luhn(digits: str) -> bool:
    figures = [int(d) for d in reversed(digits)]
    return (sum(figures[::2]) + sum(sum(divmod(2 * d, 10)) for d in figures[1::2])) % 10 == 0


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database = Database(settings)
    ledger = Ledger(database)

    async def capture(request: Request) -> Response:
        body, payment = await body_of(request), request.path_params["payment"]
        booking, account = word(body, "booking"), number(body, "account")
        return JSONResponse(await ledger.capture(payment, booking, account, number(body, "amount"), word(body, "card")))

    async def withdraw(request: Request) -> Response:
        body = await body_of(request)
        captured = await ledger.withdraw(request.path_params["payment"], word(body, "booking"), number(body, "account"))
        return JSONResponse({"captured": captured})

    async def refund(request: Request) -> Response:
        body, payment = await body_of(request), request.path_params["payment"]
        booking, account = word(body, "booking"), number(body, "account")
        return JSONResponse(await ledger.refund(payment, booking, account, number(body, "amount")))

    async def of_booking(request: Request) -> Response:
        return JSONResponse(await ledger.sums(request.path_params["booking"], None))

    async def of_account(request: Request) -> Response:
        return JSONResponse(await ledger.sums(None, request.path_params["account"]))

    routes = [
        Route("/payments/{payment}", capture, methods=["PUT"]),
        Route("/payments/{payment}/withdrawal", withdraw, methods=["PUT"]),
        Route("/payments/{payment}/refund", refund, methods=["PUT"]),
        Route("/bookings/{booking}", of_booking),
        Route("/accounts/{account:int}", of_account),
    ]
    return routes, [database, Tables(database)]


if __name__ == "__main__":
    run(make)
