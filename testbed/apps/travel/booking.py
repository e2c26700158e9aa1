"""booking: makes bookings, has them paid and cancelled, each exactly once, and ends what was left half done."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.bookings import Bookings, Order, shown
from apps.travel.office import Office
from apps.travel.schema import Tables
from apps.travel.signatures import sign
from apps.travel.sweep import Sweep
from apps.travel.trip import trip_of
from kit.bodies import body_of, number, optional_word, word
from kit.cache import Store
from kit.database import Database
from kit.outbox import Outbox
from kit.paging import page
from kit.peers import peer
from kit.queue import Queue
from kit.service import Resource, run
from kit.settings import Settings

HOLD_MINUTES = 15
"""An unpaid booking is kept for so long (``HOLD_MINUTES``)."""


def order_of(body: dict[str, Any], account: int) -> Order:
    """The order in a body; 400 where it makes no sense."""
    trip, seats = trip_of(word(body, "trip")), body.get("seats") or []
    adults, children = number(body, "adults", 1), number(body, "children", 0)
    if not 0 <= children <= 9 or not 1 <= adults <= 9:
        raise HTTPException(400, "adults and children must be small whole numbers")
    if not isinstance(seats, list) or not all(isinstance(seat, int) for seat in seats):
        raise HTTPException(400, "seats must be a list of seat numbers")
    if seats and len(set(seats)) != adults + children:
        raise HTTPException(400, "there must be one seat for each passenger")
    key, name = word(body, "key"), word(body, "name")
    if len(key) > 64 or len(name) > 100:
        raise HTTPException(400, "key has up to 64 and name up to 100 characters")
    comfort = number(body, "class", 2)
    if comfort not in (1, 2):
        raise HTTPException(400, "class must be 1 or 2")
    card = optional_word(body, "card", "none")
    return Order(account, key, name, str(trip), trip.run, comfort, adults, children, card, tuple(seats))


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    pricing, seats, payment = (peer(settings, name) for name in ("pricing", "seats", "payment"))
    bookings = Bookings(database)
    outbox = Outbox(database, [Queue(store, "tickets"), Queue(store, "notices")])
    hold = timedelta(minutes=settings.number("HOLD_MINUTES", HOLD_MINUTES))
    office = Office(bookings, outbox, pricing, seats, payment, hold)

    async def book(request: Request) -> Response:
        made = await office.book(order_of(await body_of(request), request.path_params["account"]))
        return _sealed(made, 201)

    async def mine(request: Request) -> Response:
        wanted = page(request)
        rows = await bookings.page(request.path_params["account"], wanted)
        more = rows[-1]["id"] if len(rows) == wanted.size else None
        return JSONResponse({"bookings": [shown(row) for row in rows], "next": more, "seal": sign(f"{len(rows)}/{more}", 12)})

    async def show(request: Request) -> Response:
        return _sealed(shown(await bookings.find(request.path_params["booking"], request.path_params["account"])))

    async def pay(request: Request) -> Response:
        card = word(await body_of(request), "card")
        return _sealed(await office.pay(request.path_params["booking"], request.path_params["account"], card))

    async def cancel(request: Request) -> Response:
        return _sealed(await office.cancel(request.path_params["booking"], request.path_params["account"]))

    async def ticketed(request: Request) -> Response:
        await office.ticketed(request.path_params["booking"])
        return JSONResponse({})

    routes = [
        Route("/accounts/{account:int}/bookings", book, methods=["POST"]),
        Route("/accounts/{account:int}/bookings", mine),
        Route("/accounts/{account:int}/bookings/{booking}", show),
        Route("/accounts/{account:int}/bookings/{booking}/payment", pay, methods=["POST"]),
        Route("/accounts/{account:int}/bookings/{booking}/cancellation", cancel, methods=["POST"]),
        Route("/bookings/{booking}/ticket", ticketed, methods=["PUT"]),
    ]
    sweep = Sweep(bookings.left_over, office.end)
    return routes, [database, store, Tables(database), pricing, seats, payment, outbox, sweep]


def _sealed(booking: dict[str, Any], status: int = 200) -> Response:
    """A booking with the seal that its confirmation bears."""
    return JSONResponse(booking | {"seal": sign(f"{booking['reference']}/{booking['state']}/{booking['total']}", 16)}, status)


if __name__ == "__main__":
    run(make)
