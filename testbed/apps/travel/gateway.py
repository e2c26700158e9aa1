"""gateway: the public address of travel. Who is signed in is in a cookie."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.signatures import sign
from apps.travel.trip import station_of, trip_of
from kit.bodies import body_of, optional_word, word
from kit.peers import Peer, PeerError, peer
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
Who = dict[str, Any]
_SESSION = re.compile(r"^[0-9a-f]{32}\.[0-9a-f]{16}$")
_REFERENCE = re.compile(r"^[A-Z0-9]{8,9}$")
_COOKIE_SECONDS = 1800


class Door:
    """Finds out who comes in."""

    def __init__(self, auth: Peer) -> None:
        self.auth = auth

    def anybody(self, handler: Callable[[Request], Awaitable[Any]]) -> Callable[[Request], Awaitable[Response]]:
        """A page for all; who is signed in is asked meanwhile, and the page does without when auth does not answer."""

        async def page(request: Request) -> Response:
            body, who = await asyncio.gather(handler(request), self._perhaps(request))
            return _page(request, {**body, "signed_in_as": who["name"] if who else None})

        return page

    def traveller(self, handler: Callable[[Request, Who], Awaitable[Any]]) -> Callable[[Request], Awaitable[Response]]:
        """A page for somebody who is signed in; 401 for all others. Each visit prolongs the cookie as it does the session."""

        async def page(request: Request) -> Response:
            who = await self._who(request)
            answer = _page(request, await handler(request, who))
            _remember(answer, request.cookies["session"])
            return answer

        return page

    async def _who(self, request: Request) -> Who:
        session = request.cookies.get("session", "")
        if not _SESSION.match(session):
            raise HTTPException(401, "you are not signed in")
        who: Who = await self.auth.get(f"/sessions/{session}")
        return who

    async def _perhaps(self, request: Request) -> Who | None:
        if "session" not in request.cookies:
            return None
        try:
            return await self._who(request)
        except HTTPException:
            return None
        except PeerError as error:
            if error.status >= 500:
                log.warning("auth does not answer; showing %s as to anybody", request.url.path)
            return None


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes; the gateway keeps nothing itself."""
    reads = {name: peer(settings, name, timeout=3.0, connections=40) for name in _READS}
    # A booking asks two or three others in turn, so it is given longer.
    booking = peer(settings, "booking", timeout=6.0, connections=40)
    auth, timetable, seats, payment = reads["auth"], reads["timetable"], reads["seats"], reads["payment"]
    door = Door(auth)

    async def home(_: Request) -> Any:
        return await timetable.get("/stations")

    async def trips(request: Request) -> Any:
        return await reads["trips"].get("/trips", **_asked(request, "from", "to", "date", "after"))

    async def departures(request: Request) -> Any:
        code = station_of(request.path_params["code"], "station")
        return await timetable.get(f"/boards/{code}", **_asked(request, "date", "after"))

    async def seat_map(request: Request) -> Any:
        trip = trip_of(request.path_params["trip"])
        leg, train = await asyncio.gather(timetable.get(f"/legs/{trip}"), seats.get(f"/runs/{trip.run}"))
        return {**train, "leg": leg}

    async def fare(request: Request) -> Any:
        party = _asked(request, "class", "adults", "children", "card")
        return await reads["pricing"].get(f"/fares/{trip_of(request.path_params['trip'])}", **party)

    async def book(request: Request, who: Who) -> Any:
        body = await body_of(request)
        named = body | {"name": optional_word(body, "name", who["name"])}
        return await booking.post(f"/accounts/{who['account']}/bookings", named)

    async def my_bookings(request: Request, who: Who) -> Any:
        mine, stations = await asyncio.gather(
            booking.get(f"/accounts/{who['account']}/bookings", **_asked(request, "after", "size")), timetable.get("/stations")
        )
        return _named(mine, stations["stations"])

    async def my_booking(request: Request, who: Who) -> Any:
        reference = _reference(request)
        found, sums = await asyncio.gather(
            booking.get(f"/accounts/{who['account']}/bookings/{reference}"), payment.get(f"/bookings/{reference}")
        )
        return {**found, "payment": {name: sums[name] for name in ("captured", "refunded")}}

    async def pay(request: Request, who: Who) -> Any:
        body = {"card": word(await body_of(request), "card")}
        return await booking.post(f"/accounts/{who['account']}/bookings/{_reference(request)}/payment", body)

    async def cancel(request: Request, who: Who) -> Any:
        return await booking.post(f"/accounts/{who['account']}/bookings/{_reference(request)}/cancellation", {})

    async def ticket(request: Request, who: Who) -> Any:
        return await reads["tickets"].get(f"/accounts/{who['account']}/tickets/{_reference(request)}")

    async def account(_: Request, who: Who) -> Any:
        sums = await payment.get(f"/accounts/{who['account']}")
        return {"name": who["name"], "captured": sums["captured"], "refunded": sums["refunded"]}

    async def inbox(request: Request, who: Who) -> Any:
        return await reads["notifier"].get(f"/accounts/{who['account']}/messages", **_asked(request, "after", "size"))

    async def register(request: Request) -> Response:
        return _welcome(request, await auth.post("/accounts", await body_of(request)), 201)

    async def sign_in(request: Request) -> Response:
        return _welcome(request, await auth.post("/sessions", await body_of(request)))

    async def sign_out(request: Request) -> Response:
        session = request.cookies.get("session", "")
        if _SESSION.match(session):
            await auth.delete(f"/sessions/{session}")
        answer = _page(request, {})
        answer.delete_cookie("session")
        return answer

    routes = [
        Route("/", door.anybody(home)),
        Route("/trips", door.anybody(trips)),
        Route("/stations/{code}/departures", door.anybody(departures)),
        Route("/trips/{trip}/seats", door.anybody(seat_map)),
        Route("/trips/{trip}/fare", door.anybody(fare)),
        Route("/bookings", door.traveller(my_bookings)),
        Route("/bookings", door.traveller(book), methods=["POST"]),
        Route("/bookings/{reference}", door.traveller(my_booking)),
        Route("/bookings/{reference}/payment", door.traveller(pay), methods=["POST"]),
        Route("/bookings/{reference}/cancel", door.traveller(cancel), methods=["POST"]),
        Route("/bookings/{reference}/ticket", door.traveller(ticket)),
        Route("/account", door.traveller(account)),
        Route("/inbox", door.traveller(inbox)),
        Route("/register", register, methods=["POST"]),
        Route("/login", sign_in, methods=["POST"]),
        Route("/logout", sign_out, methods=["POST"]),
    ]
    return routes, [*reads.values(), booking]


_READS = ("auth", "trips", "timetable", "seats", "pricing", "payment", "tickets", "notifier")


def _asked(request: Request, *names: str) -> dict[str, str | int]:
    """What was asked for by name in the address."""
    return {name: request.query_params[name] for name in names if name in request.query_params}


def _reference(request: Request) -> str:
    reference = str(request.path_params["reference"])
    if not _REFERENCE.match(reference):
        raise HTTPException(404, "you have no such booking")
    return reference


def _named(mine: dict[str, Any], stations: dict[str, str]) -> dict[str, Any]:
    """A page of bookings with the stations' names."""
    titled = [
        b | {"from": stations.get(b["origin"], b["origin"]), "to": stations.get(b["destination"], b["destination"])}
        for b in mine["bookings"]
    ]
    return {**mine, "bookings": titled}


def _page(request: Request, body: Any, status: int = 200) -> JSONResponse:
    """A page with the seal that tells it from a forged one."""
    seal = sign(f"{request.method} {request.url.path}", 12)
    return JSONResponse(body, status, headers={"X-Page": seal})


def _welcome(request: Request, who: Who, status: int = 200) -> Response:
    answer = _page(request, {"name": who["name"]}, status)
    _remember(answer, who["session"])
    return answer


def _remember(answer: Response, session: str) -> None:
    answer.set_cookie("session", session, httponly=True, samesite="lax", max_age=_COOKIE_SECONDS)


if __name__ == "__main__":
    run(make)
