"""A traveller: which trains there are, what was booked and paid, and what must therefore be seen.

Each probe travels on a day of its own, far ahead, where ordinary visitors book nothing; what it books it cancels.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from testbed.users.person import NotReachedError, Person, Seen, seen

CARD = "4242 4242 4242 4242"
FIRST_DAY = 20
"""Days from today on which the first probe travels; each further one travels a day later."""
ERRAND_VISITS = 8
"""Visits with one journey in mind, before the next."""
NAMES = ("Ida Brook", "Tom Field", "Lea Marsh", "Max Hill", "Eva Stone", "Jan Wood", "Pia Lake", "Kai Ford")
PASSWORD = "window or aisle"


@dataclass(frozen=True, slots=True)
class Errand:
    """A journey in mind: a trip that the departure board shows, and the whole board as it was then."""

    trip: str
    run: int
    line: str
    origin: str
    destination: str
    departs: str
    day: str
    after: str
    spoken: str
    board: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Booked:
    """A booking that was made for somebody: its figures as they were asked for."""

    reference: str
    errand: Errand
    name: str
    seats: list[int]
    total: int


class Visitor(Person):
    """A traveller."""

    def __init__(self, url: str, number: int = 0) -> None:
        super().__init__(url, number)
        self.email = f"{secrets.token_hex(6)}@example.net"
        self.name = NAMES[number % len(NAMES)]
        self.registered = self.signed_in = False
        self.errand: Errand | None = None
        self.quote = 0
        self.booked: Booked | None = None
        self.ended: Booked | None = None
        self._hours = itertools.cycle(f"{hour:02d}:{minute}" for minute in ("00", "30") for hour in range(6, 21))
        self._choices = itertools.count(number)
        self._seats: list[int] = []
        self._found: dict[int, str] | None = None

    async def on(self, method: str, path: str, body: object = None) -> Any:
        """A step on the way for somebody signed in: who finds out that they are not signs in at the next visit."""
        try:
            return await self.reach(method, path, body)
        except NotReachedError as error:
            cause = error.__cause__
            if isinstance(cause, httpx.HTTPStatusError) and cause.response.status_code == 401:
                self.signed_in = False
            raise

    async def have_account(self) -> None:
        """Make sure that one is signed in. Raises ``NotReachedError``."""
        if self.signed_in:
            return
        self.client.cookies.clear()
        if self.registered:
            await self.reach("POST", "/login", {"email": self.email, "password": PASSWORD})
        else:
            await self.reach("POST", "/register", {"email": self.email, "name": self.name, "password": PASSWORD})
        self.registered = self.signed_in = True

    async def have_errand(self) -> Errand:
        """The journey in mind, every few visits another one. Raises ``NotReachedError`` where there is none."""
        if self.errand is None or self.turns(ERRAND_VISITS):
            try:
                self.errand, self.quote, self._seats, self._found = await self._new_errand(), 0, [], None
            except NotReachedError:
                if self.errand is None:
                    raise
        return self.errand

    async def have_quote(self, errand: Errand) -> int:
        """What one adult pays without a card, as shown when it was first asked for. Raises ``NotReachedError``."""
        if not self.quote:
            self.quote = int((await self.reach("GET", f"/trips/{errand.trip}/fare"))["total"])
        return self.quote

    async def have_found(self, errand: Errand) -> dict[int, str]:
        """The direct trains that the search has for the errand, with their departures. Raises ``NotReachedError``."""
        if self._found is None:
            asked = f"from={errand.origin}&to={errand.destination}&date={errand.day}&after={errand.after}"
            connections = (await self.reach("GET", f"/trips?{asked}"))["connections"]
            self._found = {c["legs"][0]["run"]: c["departs"] for c in connections if not c["changes"]}
        return self._found

    async def have_seat(self, errand: Errand) -> int:
        """A free second-class seat, another each time. Raises ``NotReachedError``."""
        if not self._seats:
            page = await self.reach("GET", f"/trips/{errand.trip}/seats")
            self._seats = [seat["seat"] for seat in page["seats"] if seat["free"] and seat["class"] == 2]
            if not self._seats:
                raise NotReachedError("no free seat")
        return self._seats.pop(0)

    async def order(self) -> tuple[Errand, dict[str, Any], int]:
        """What is needed to book one seat: the errand, the body to send, the fare that was shown."""
        await self.have_account()
        errand = await self.have_errand()
        quote, seat = await self.have_quote(errand), await self.have_seat(errand)
        body = {"trip": errand.trip, "adults": 1, "seats": [seat], "name": self.name, "key": secrets.token_hex(8)}
        return errand, body, quote

    async def book(self) -> Booked:
        """A booking made on the way. Raises ``NotReachedError``."""
        errand, body, quote = await self.order()
        made = await self.on("POST", "/bookings", body)
        return Booked(str(made["reference"]), errand, self.name, list(made["seats"]), quote)

    async def buy(self) -> Booked:
        """The same, paid for."""
        booked = await self.book()
        await self.on("POST", f"/bookings/{booked.reference}/payment", {"card": CARD})
        return booked

    async def is_gone(self, reference: str) -> bool:
        """Cancel what was only booked to see; True when there is no such booking any more. Failing to cancel is no matter."""
        try:
            await self.on("POST", f"/bookings/{reference}/cancel", {})
        except NotReachedError as error:
            cause = error.__cause__
            return isinstance(cause, httpx.HTTPStatusError) and cause.response.status_code == 404
        return False

    def judge(self, answer: httpx.Response, wrong: Callable[[Any], str], item: str) -> Seen:
        """As ``seen``; being signed out, or one's booking being unknown, is something forgotten."""
        if answer.status_code == 401:
            self.signed_in = False
        if answer.status_code in (401, 404):
            return Seen(answer, "lost_state", item)
        return seen(answer, wrong, lambda _: item)

    async def _new_errand(self) -> Errand:
        day = (datetime.now(UTC) + timedelta(days=FIRST_DAY + self.number)).date().isoformat()
        stations = sorted((await self.reach("GET", "/"))["stations"])
        code, after = stations[next(self._choices) * 7 % len(stations)], next(self._hours)
        page = await self.reach("GET", f"/stations/{code}/departures?date={day}&after={after}")
        if not page["departures"]:
            raise NotReachedError("no trains")
        departure = page["departures"][secrets.randbelow(min(6, len(page["departures"])))]
        call = secrets.choice(departure["calls"])
        return Errand(
            call["trip"],
            departure["run"],
            departure["line"],
            code,
            call["station"],
            departure["departs"],
            day,
            after,
            f"{page['name']} to {call['name']}",
            tuple(page["departures"]),
        )
