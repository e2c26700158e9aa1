"""Visitors of travel: most search and look at trains, fares and seats; a few look after their bookings, and fewer buy."""

from __future__ import annotations

import random
import secrets
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from locust import HttpUser, between, task

CARD = "5555 5555 5555 4444"
PASSWORD = "mind the gap please"
TRAVELLERS = 20_000
DAYS = 14
"""People look for trains from tomorrow on; later days are left alone."""
THINK_SECONDS = (1.5, 4.0)
CARDS = ("none", "none", "none", "quarter", "half", "youth")


class Traveller(HttpUser):
    """One visitor at a time, who thinks for some seconds between two pages."""

    wait_time = between(*THINK_SECONDS)
    network_timeout = 10.0
    connection_timeout = 5.0

    def on_start(self) -> None:
        """Which stations there are is on the front page."""
        self.stations: list[str] = []

    @task(8)
    def search(self) -> None:
        """Find a train, and look at what it costs or where one would sit."""
        trip = self._find()
        if trip is None:
            return
        self._think()
        if random.random() < 0.6:
            self._fare(trip)
        if random.random() < 0.4:
            self.client.get(f"/trips/{trip}/seats", name="/trips/{id}/seats")

    @task(5)
    def board(self) -> None:
        """What leaves from a station soon, or on another day."""
        code = self._station()
        if code:
            self._board(code)

    @task(2)
    def look_back(self) -> None:
        """Sign in and look at bookings and messages."""
        if not self._sign_in():
            return
        page = self._json(self.client.get("/bookings"))
        if page and page["bookings"] and random.random() < 0.4:
            reference = random.choice(page["bookings"])["reference"]
            self.client.get(f"/bookings/{reference}", name="/bookings/{ref}")
        if random.random() < 0.3:
            self.client.get("/inbox")
        self.client.post("/logout")

    @task(1)
    def buy(self) -> None:
        """Find a train, see the fare and the seats, book, pay, open the ticket; one in six thinks better of it."""
        trip = self._find()
        if trip is None or not self._sign_in():
            return
        self._think()
        adults, children, card = random.randint(1, 2), random.choice((0, 0, 0, 1)), random.choice(CARDS)
        self._fare(trip, adults=adults, children=children, card=card)
        self.client.get(f"/trips/{trip}/seats", name="/trips/{id}/seats")
        self._think()
        body = {"trip": trip, "adults": adults, "children": children, "card": card, "key": secrets.token_hex(8)}
        made = self._json(self.client.post("/bookings", json=body))
        if made is None:
            return
        self._think()
        reference = made["reference"]
        paid = self.client.post(f"/bookings/{reference}/payment", json={"card": CARD}, name="/bookings/{ref}/payment")
        if not _worked(paid):
            return
        self._think()
        self.client.get(f"/bookings/{reference}/ticket", name="/bookings/{ref}/ticket")
        if random.random() < 0.16:
            self.client.post(f"/bookings/{reference}/cancel", name="/bookings/{ref}/cancel")
        self.client.post("/logout")

    def _find(self) -> str | None:
        """A trip that a search for a train from some station shows; None when there is none."""
        code = self._station()
        page = self._board(code) if code else None
        if not page or not page["departures"]:
            return None
        departure = random.choice(page["departures"])
        self._think()
        asked = {
            "from": code,
            "to": random.choice(departure["calls"])["station"],
            "date": departure["departs"][:10],
            "after": departure["departs"][11:16],
        }
        found = self._json(self.client.get("/trips", params=asked, name="/trips"))
        return random.choice(found["connections"])["legs"][0]["trip"] if found and found["connections"] else None

    def _board(self, code: str) -> Any:
        day = (datetime.now(UTC) + timedelta(days=random.randint(1, DAYS))).date().isoformat()
        asked = {"date": day, "after": f"{random.randint(5, 20):02d}:00"}
        return self._json(self.client.get(f"/stations/{code}/departures", params=asked, name="/stations/{code}/departures"))

    def _fare(self, trip: str, **party: int | str) -> None:
        asked = party or {"card": random.choice(CARDS)}
        self.client.get(f"/trips/{trip}/fare", params=asked, name="/trips/{id}/fare")

    def _sign_in(self) -> bool:
        who = {"email": f"traveller{random.randint(1, TRAVELLERS)}@example.org", "password": PASSWORD}
        return _worked(self.client.post("/login", json=who))

    def _station(self) -> str:
        if not self.stations:
            page = self._json(self.client.get("/"))
            self.stations = sorted(page["stations"]) if page else []
        return random.choice(self.stations) if self.stations else ""

    def _think(self) -> None:
        """As long as between two errands."""
        time.sleep(random.uniform(*THINK_SECONDS))

    def _json(self, answer: Any) -> Any:
        """What the page says; None where it failed."""
        return answer.json() if _worked(answer) else None


def _worked(answer: Any) -> bool:
    """Whether there is a page; where there was no answer at all the status is 0."""
    return bool(200 <= answer.status_code < 400)


USERS = [Traveller]
