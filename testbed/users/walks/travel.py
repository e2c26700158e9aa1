"""A traveller's ways through the ticket site, one function a feature."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import httpx

from testbed.users.person import Seen, seen
from testbed.users.visitors.travel import CARD, PASSWORD, Visitor

KEPT_VISITS = 4
"""Visits to a seat map or a list of bookings that one booking serves for."""
GLANCE_SECONDS = 0.4
"""Nobody opens a ticket sooner after paying for it."""
_PAID = ("paid", "ticketed")


async def trip_search(user: Visitor) -> Seen:
    """The search shows exactly the direct trains that the board does, at their times, in order."""
    errand = await user.have_errand()
    asked = {"from": errand.origin, "to": errand.destination, "date": errand.day, "after": errand.after}
    answer = await user.ask("GET", "/trips", params=asked)

    def wrong(page: Any) -> str:
        # What leaves at the board's last minute may be cut off there.
        end = min(errand.board[-1]["departs"], page["until"])
        known = {
            d["run"]: d["departs"]
            for d in errand.board
            if d["departs"] < end and any(call["station"] == errand.destination for call in d["calls"])
        }
        direct = {c["legs"][0]["run"]: c["departs"] for c in page["connections"] if not c["changes"] and c["departs"] < end}
        if not known.keys() <= direct.keys():
            return "missing_data"
        times = [c["departs"] for c in page["connections"]]
        return "" if direct == known and times == sorted(times) and all(map(_adds_up, page["connections"])) else "wrong_data"

    return seen(answer, wrong, lambda _: errand.spoken)


def _adds_up(connection: dict[str, Any]) -> bool:
    """The legs follow one another, and there are as many seats free as there can be."""
    legs = connection["legs"]
    times = [time for leg in legs for time in (leg["departs"], leg["arrives"])]
    whole = datetime.fromisoformat(connection["arrives"]) - datetime.fromisoformat(connection["departs"])
    return (
        times == sorted(times)
        and (times[0], times[-1]) == (connection["departs"], connection["arrives"])
        and connection["minutes"] * 60 == whole.total_seconds()
        and all(0 <= leg["free"] <= 200 for leg in legs)
    )


async def timetable(user: Visitor) -> Seen:
    """The board shows the trains that the search finds and that it showed before, at their times, in order."""
    errand = await user.have_errand()
    found = await user.have_found(errand)
    path = f"/stations/{errand.origin}/departures"
    answer = await user.ask("GET", path, params={"date": errand.day, "after": errand.after})

    def wrong(page: Any) -> str:
        shown = {d["run"]: (d["departs"], d["line"], d["platform"], d["calls"]) for d in page["departures"]}
        known = {d["run"]: (d["departs"], d["line"], d["platform"], d["calls"]) for d in errand.board}
        end = page["departures"][-1]["departs"] if shown else ""
        if not shown or not known.keys() | {run for run, departs in found.items() if departs < end} <= shown.keys():
            return "missing_data"
        agree = all(shown[run][0] == departs for run, departs in found.items() if run in shown)
        times = [d["departs"] for d in page["departures"]]
        right = times == sorted(times) and times[0][:16] >= f"{errand.day}T{errand.after}" and page["station"] == errand.origin
        return "" if right and agree and shown == known else "wrong_data"

    return seen(answer, wrong, lambda page: str(page["name"]))


async def seat_map(user: Visitor) -> Seen:
    """A seat that somebody has booked is shown as taken to others, and the free ones are counted right."""
    if user.booked is None or user.turns(KEPT_VISITS):
        if user.booked is not None:
            await user.is_gone(user.booked.reference)
            user.booked = None
        user.booked = await user.book()
    booked = user.booked
    mine, user.client.cookies = user.client.cookies, httpx.Cookies()
    try:
        answer = await user.ask("GET", f"/trips/{booked.errand.trip}/seats")
    finally:
        user.client.cookies = mine

    def wrong(page: Any) -> str:
        if not page["seats"]:
            return "missing_data"
        free = {seat["seat"] for seat in page["seats"] if seat["free"]}
        if free & set(booked.seats):
            user.booked = None
            return "lost_state"
        drawn = page["drawing"].count('class="free"')
        return "" if len(free) == page["free"] == drawn and page["leg"]["trip"] == booked.errand.trip else "wrong_data"

    return seen(answer, wrong, lambda _: f"{booked.errand.line}, {booked.errand.spoken}")


async def fare(user: Visitor) -> Seen:
    """A family pays less with a card, by just what the card says, and no other fare than it was quoted."""
    errand = await user.have_errand()
    quote = await user.have_quote(errand)
    card, percent = secrets.choice((("quarter", 25), ("half", 50)))
    answer = await user.ask("GET", f"/trips/{errand.trip}/fare", params={"adults": 2, "children": 1, "card": card})

    def wrong(page: Any) -> str:
        if len(page["lines"]) != 3:
            return "missing_data"
        # Fares are in steps of five cents.
        half = quote // 2 - quote // 2 % 5
        bases = [line["base"] for line in page["lines"]]
        amounts = [base * (100 - percent) // 100 // 5 * 5 for base in (quote, quote, half)]
        right = bases == [quote, quote, half] and [line["amount"] for line in page["lines"]] == amounts
        total = page["total"]
        others = page["others"]["2"]
        cheaper = total == others[card] < others["none"] == sum(bases)
        shown = f"{total // 100}.{total % 100:02d}"
        return "" if right and cheaper and total == sum(amounts) and page["shown"] == shown else "wrong_data"

    return seen(answer, wrong, lambda _: errand.spoken)


async def book(user: Visitor) -> Seen:
    """Booking a seat gives a reference, this seat, at the fare that was shown; and the booking is still there afterwards."""
    errand, body, quote = await user.order()
    answer = await user.ask("POST", "/bookings", json=body)
    reference = ""

    def wrong(page: Any) -> str:
        nonlocal reference
        reference = page.get("reference", "")
        if not reference:
            return "missing_data"
        held = (page["state"], page["seats"], page["total"], page["trip"], page["name"])
        return "" if held == ("held", body["seats"], quote, errand.trip, user.name) else "wrong_data"

    found = user.judge(answer, wrong, errand.spoken)
    return await _cleared(user, reference, found)


async def payment(user: Visitor) -> Seen:
    """A good card pays for the booking: just what it costs."""
    booked = await user.book()
    answer = await user.ask("POST", f"/bookings/{booked.reference}/payment", json={"card": CARD})

    def wrong(page: Any) -> str:
        return "" if page["state"] in _PAID and page["total"] == booked.total and page["seats"] == booked.seats else "wrong_data"

    found = user.judge(answer, wrong, booked.errand.spoken)
    return await _cleared(user, booked.reference, found)


async def my_bookings(user: Visitor) -> Seen:
    """What was bought is in the list at its price and for its train, and what was cancelled before is cancelled."""
    await user.have_account()
    if user.booked is None or user.turns(KEPT_VISITS):
        if user.booked is not None and user.signed_in:
            await user.on("POST", f"/bookings/{user.booked.reference}/cancel", {})
            user.booked, user.ended = None, user.booked
        user.booked = await user.buy()
    booked, ended = user.booked, user.ended
    answer = await user.ask("GET", "/bookings", params={"size": 10})

    def wrong(page: Any) -> str:
        listed = {b["reference"]: b for b in page["bookings"]}
        if booked.reference not in listed or (ended and ended.reference not in listed):
            user.booked = user.ended = None
            return "missing_data"
        mine = listed[booked.reference]
        right = mine["state"] in _PAID and (mine["total"], mine["seats"]) == (booked.total, booked.seats)
        same = mine["departs"] == booked.errand.departs and f"{mine['from']} to {mine['to']}" == booked.errand.spoken
        over = ended is None or listed[ended.reference]["state"] == "cancelled"
        return "" if right and same and over else "wrong_data"

    return user.judge(answer, wrong, booked.errand.spoken)


async def cancel(user: Visitor) -> Seen:
    """Weeks before departure all of the money comes back."""
    booked = await user.buy()
    answer = await user.ask("POST", f"/bookings/{booked.reference}/cancel", json={})

    def wrong(page: Any) -> str:
        if page.get("refund") is None:
            return "missing_data"
        return "" if (page["state"], page["refund"]) == ("cancelled", booked.total) else "wrong_data"

    return user.judge(answer, wrong, booked.errand.spoken)


async def login(user: Visitor) -> Seen:
    """The right password signs one in, and one stays so on the next page."""
    if not user.registered:
        await user.have_account()
    user.client.cookies.clear()
    answer = await user.ask("POST", "/login", json={"email": user.email, "password": PASSWORD})
    if answer.status_code >= 400:
        return Seen(answer)
    try:
        async with asyncio.timeout(user.seconds + 3.0):
            next_page = await user.client.get("/account")
    except (TimeoutError, httpx.TransportError):
        return Seen(answer)
    return Seen(answer, "lost_state" if next_page.status_code == 401 else "")


async def ticket(user: Visitor) -> Seen:
    """Soon after paying there is a ticket with one's name, the day and the seat."""
    booked = await user.buy()
    await asyncio.sleep(GLANCE_SECONDS)
    path = f"/bookings/{booked.reference}/ticket"

    async def look() -> Seen | None:
        answer = await user.ask("GET", path)
        return None if answer.status_code == 404 else user.judge(answer, wrong, booked.errand.spoken)

    def wrong(page: Any) -> str:
        if not page.get("code") or not page.get("drawing"):
            return "missing_data"
        told = (page["state"], page["name"], page["date"], page["seats"], page["departs"], page["total"])
        errand = booked.errand
        right = ("valid", booked.name, errand.departs[:10], booked.seats, errand.departs, booked.total)
        return "" if told == right and len(page["places"]) == 1 else "wrong_data"

    found = await user.until(look)
    await user.is_gone(booked.reference)
    return found


async def _cleared(user: Visitor, reference: str, found: Seen) -> Seen:
    """The visit's outcome once its booking is cancelled again; a booking that has vanished is something forgotten."""
    if reference and await user.is_gone(reference) and not found.wrong:
        return Seen(found.answer, "lost_state", found.item)
    return found


FEATURES: dict[str, Callable[[Visitor], Awaitable[Seen]]] = {
    f.__name__: f for f in (trip_search, timetable, seat_map, fare, book, payment, my_bookings, cancel, login, ticket)
}
