"""tickets: issues the e-ticket of a paid booking once, and shows it, signed."""

from __future__ import annotations

import json
import logging
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.layout import spoken
from apps.travel.schema import Tables
from apps.travel.signatures import sign
from kit.cache import Store
from kit.database import Database
from kit.peers import Peer, peer
from kit.queue import Queue, Worker
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
_ISSUE = "INSERT INTO tickets (booking, account, state, facts) VALUES ($1, $2, 'valid', $3) ON CONFLICT (booking) DO NOTHING"
_VOID = """
INSERT INTO tickets (booking, account, state, facts) VALUES ($1, $2, 'void', $3)
ON CONFLICT (booking) DO UPDATE SET state = 'void'"""
_FACTS = ("name", "line", "origin", "destination", "departs", "arrives", "comfort", "seats", "total")
_SIDE = 24


class Tickets:
    """Tickets in Postgres, one a booking. An event that comes twice, or late, changes nothing."""

    def __init__(self, database: Database, booking: Peer) -> None:
        self.database, self.booking = database, booking

    async def handle(self, event: dict[str, Any]) -> None:
        """A booking was paid: issue its ticket and tell booking so. One was cancelled: its ticket is void."""
        reference, paid = event["booking"], event["event"] == "booking-paid"
        facts = json.dumps({name: event[name] for name in _FACTS})
        async with self.database.connection() as connection:
            done = await connection.execute(_ISSUE if paid else _VOID, reference, event["account"], facts)
        if paid:
            await self.booking.put(f"/bookings/{reference}/ticket", {})
        log.info("%s: %s", reference, "issued the ticket" if paid and done.endswith("1") else "nothing to issue")

    async def show(self, reference: str, account: int) -> dict[str, Any]:
        """The account's ticket for a booking, with its code; 404 while it is not issued."""
        async with self.database.connection() as connection:
            row = await connection.fetchrow("SELECT * FROM tickets WHERE booking = $1 AND account = $2", reference, account)
        if row is None:
            raise HTTPException(404, "the ticket is not issued yet")
        facts = json.loads(row["facts"])
        code = sign(f"{reference}/{facts['name']}/{facts['departs']}/{facts['seats']}")
        return {
            "reference": reference,
            "state": row["state"],
            **facts,
            "date": facts["departs"][:10],
            "places": [spoken(seat) for seat in facts["seats"]],
            "issued_at": row["issued_at"].isoformat(),
            "code": code,
            "drawing": _matrix(code),
        }


def _matrix(code: str) -> list[str]:
    """The code as a square of dots for the inspector's reader, each row with a check bit."""
    bits = "".join(f"{int(digit, 16):04b}" for digit in code)
    rows = ["".join(bits[(row * 7 + column * 3) % len(bits)] for column in range(_SIDE)) for row in range(_SIDE)]
    return [row + str(row.count("1") % 2) for row in rows]


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store, booking = Database(settings), Store(settings.redis), peer(settings, "booking")
    tickets = Tickets(database, booking)

    async def show(request: Request) -> Response:
        account = request.path_params["account"]
        return JSONResponse(await tickets.show(request.path_params["booking"], account))

    worker = Worker(Queue(store, "tickets"), tickets.handle)
    return [Route("/accounts/{account:int}/tickets/{booking}", show)], [database, store, Tables(database), booking, worker]


if __name__ == "__main__":
    run(make)
